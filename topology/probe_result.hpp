// A probe's measurements and findings. Value types: made by the prober, stored in the run's journal
// and history.db, read by doctor, advice and planner (docs/rfc/008).
#pragma once

#include <boost/describe.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace osora::topology {

/// How a pair of nodes was measured.
enum class ProbeStage {
    matching,      // all nodes at once, in random disjoint pairs
    retest,        // a suspect with known good nodes
    leaf_one,      // two leaves, one pair of nodes active
    leaf_all,      // two leaves, all pairs of nodes active
    interface_one  // one pair over a named interface
};
BOOST_DESCRIBE_ENUM(ProbeStage, matching, retest, leaf_one, leaf_all, interface_one)

/// One transfer between two nodes, both directions at once unless noted.
struct PairSample {
    ProbeStage stage = ProbeStage::matching;
    int round = 0;
    int from = 0, to = 0;   // indices into ProbeResult::nodes
    std::string transport;  // "tcp", "gloo", "nccl"
    std::string interface;  // of `from`; "" = as routed
    std::int64_t size_bytes = 0;
    double seconds = 0;        // of one transfer of that size
    double latency_us = 0;     // round trip before the load; 0 = not measured
    std::string network = {};  // "10.1.0.0/16"; "" = the one that ranks meet on
    friend bool operator==(PairSample const&, PairSample const&) = default;
};

/// One collective over a group of ranks; ranks and nodes as in samples of `osora nccl fit`.
struct CollectiveSample {
    std::string backend;     // "gloo", "nccl"
    std::string collective;  // "all_reduce", "all_gather", "reduce_scatter", ...
    int ranks = 0, nodes = 0;
    std::int64_t size_bytes = 0;
    double time_us = 0;
    std::string group = {};  // "" = all ranks; "pairs 2: 0-3" = ranks 0 and 3 of set "pairs 2"
    friend bool operator==(CollectiveSample const&, CollectiveSample const&) = default;
};

/// Measurements by the workers of a probe.
struct CollectiveTimes {
    std::vector<CollectiveSample> samples;  // medians of times until all ranks are done
    std::vector<std::string> left_out;      // sizes, for want of time or of memory
};

/// Reading the data path.
struct StorageSample {
    int node = 0;       // index into ProbeResult::nodes
    std::string path;   // that was read
    bool alone = true;  // false: all nodes at once
    double read_bytes_per_s = 0;
    double open_us = 0;  // median latency of open + first read
    int files = 0;
    friend bool operator==(StorageSample const&, StorageSample const&) = default;
};

/// Robust figures of a node over its rounds.
struct NodeScore {
    double gbit_s = 0;     // median over rounds, at the largest size
    double of_median = 0;  // gbit_s / fleet median
    int samples = 0;
    bool bad = false;
    std::string interface;  // that its traffic took
    friend bool operator==(NodeScore const&, NodeScore const&) = default;
};

/// Rate of a node over one of its interfaces, relative to other nodes of that network.
struct InterfaceScore {
    int node = 0;           // index into ProbeResult::nodes
    std::string interface;  // "eth1"
    std::string network;    // "10.1.0.0/16"; "" = the one that ranks meet on
    double gbit_s = 0;      // median
    double of_median = 0;   // of that network's
    friend bool operator==(InterfaceScore const&, InterfaceScore const&) = default;
};

/// A problem that the figures show.
struct ProbeFinding {
    std::string kind;  // "slow_node", "slow_link", "oversubscribed", "slow_network", "node_lost",
                       // "slow_storage"
    std::vector<std::string> nodes;  // nodes concerned, by name
    std::string where;               // "n11", "n3-n7", "leaf l1 - leaf l2"
    double ratio = 0;                // measured / expected
    std::string evidence;            // with figures and their number
    friend bool operator==(ProbeFinding const&, ProbeFinding const&) = default;
};

struct ProbeResult {
    std::int64_t wall_us = 0;  // when it ended, since 1970 UTC
    std::string source;        // run uuid of the probe
    std::string backend = {};  // of that run: "ssh", "slurm", "local"
    std::vector<std::string> nodes;
    std::vector<std::string> leaves;  // by node; "" = not known
    std::vector<PairSample> pairs;
    std::vector<CollectiveSample> collectives;
    std::int64_t collectives_wall_us = 0;  // when these were measured
    std::vector<StorageSample> storage;
    std::vector<NodeScore> scores;  // by node
    double median_gbit_s = 0;       // fleet
    std::vector<ProbeFinding> findings;
    std::vector<InterfaceScore> interfaces = {};       // of nodes with more than one network
    std::vector<double> memory_copy_bytes_per_s = {};  // by node, one thread; 0 = not measured
    std::vector<std::string> warnings = {};            // what could not be measured, and why
    friend bool operator==(ProbeResult const&, ProbeResult const&) = default;
};

BOOST_DESCRIBE_STRUCT(PairSample, (),
                      (stage, round, from, to, transport, interface, size_bytes, seconds,
                       latency_us, network))
BOOST_DESCRIBE_STRUCT(CollectiveSample, (),
                      (backend, collective, ranks, nodes, size_bytes, time_us, group))
BOOST_DESCRIBE_STRUCT(CollectiveTimes, (), (samples, left_out))
BOOST_DESCRIBE_STRUCT(StorageSample, (), (node, path, alone, read_bytes_per_s, open_us, files))
BOOST_DESCRIBE_STRUCT(NodeScore, (), (gbit_s, of_median, samples, bad, interface))
BOOST_DESCRIBE_STRUCT(InterfaceScore, (), (node, interface, network, gbit_s, of_median))
BOOST_DESCRIBE_STRUCT(ProbeFinding, (), (kind, nodes, where, ratio, evidence))
BOOST_DESCRIBE_STRUCT(ProbeResult, (),
                      (wall_us, source, backend, nodes, leaves, pairs, collectives,
                       collectives_wall_us, storage, scores, median_gbit_s, findings, interfaces,
                       memory_copy_bytes_per_s, warnings))

}  // namespace osora::topology
