// The machines of a run in the planner's view: cores, memory, GPUs. Value types, no I/O.
#pragma once

#include <boost/describe.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace osora::topology {

struct Gpu {
    std::string name;               // "NVIDIA H100 80GB HBM3"
    std::int64_t memory_bytes = 0;  // 0: not known
};
struct Node {
    std::string name;
    int cores = 1;                  // that this process may use (affinity and cgroup quota)
    std::int64_t memory_bytes = 0;  // that this process may use (RAM and cgroup limit)
    std::vector<Gpu> gpus;
};
struct Cluster {
    std::vector<Node> nodes;
};

BOOST_DESCRIBE_STRUCT(Gpu, (), (name, memory_bytes))
BOOST_DESCRIBE_STRUCT(Node, (), (name, cores, memory_bytes, gpus))
BOOST_DESCRIBE_STRUCT(Cluster, (), (nodes))

}  // namespace osora::topology
