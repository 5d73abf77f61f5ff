// The network between the nodes: switches, blocks (NVLink domains), rails. Value types, no I/O;
// filled by parsers of Slurm's files, ibnetdiscover and others.
#pragma once

#include "topology/machine.hpp"

#include <boost/describe.hpp>

#include <string>
#include <vector>

namespace osora::topology {

struct Switch {
    std::string name;
    int level = 0;                      // 0 = leaf: nodes are connected to it
    std::vector<std::string> parents;   // names; several in a fat tree
    std::vector<std::string> children;  // switches below
    std::vector<std::string> nodes;     // directly below, host names
    double up_gbit = 0;                 // sum of all uplinks; 0 = unknown
    friend bool operator==(Switch const&, Switch const&) = default;
};

/// Nodes that share a fast domain: a block of Slurm's block plug-in, an NVLink domain.
struct Block {
    std::string name;
    std::vector<std::string> nodes;
    friend bool operator==(Block const&, Block const&) = default;
};

struct Fabric {
    std::string source;  // "scontrol show topology", "topology.yaml", "synthetic"
    std::vector<Switch> switches;
    std::vector<Block> blocks;
    std::vector<int> block_sizes;
    std::vector<std::string> warnings;  // what could not be read, and the fallback
    friend bool operator==(Fabric const&, Fabric const&) = default;
};

/// A cluster: the network, and those nodes that are known in detail.
struct ClusterTopology {
    Fabric fabric;
    std::vector<Machine> machines;  // by name; may be fewer than in the fabric
    friend bool operator==(ClusterTopology const&, ClusterTopology const&) = default;
};

BOOST_DESCRIBE_STRUCT(Switch, (), (name, level, parents, children, nodes, up_gbit))
BOOST_DESCRIBE_STRUCT(Block, (), (name, nodes))
BOOST_DESCRIBE_STRUCT(Fabric, (), (source, switches, blocks, block_sizes, warnings))
BOOST_DESCRIBE_STRUCT(ClusterTopology, (), (fabric, machines))

/// Names of the switches above `node`, from its leaf upwards (following the first parent); empty:
/// the fabric does not have it. Stops at a loop.
[[nodiscard]] std::vector<std::string> switches_above(Fabric const& fabric,
                                                      std::string const& node);

}  // namespace osora::topology
