// Nodes that became slower from probe to probe: what each reached in a probe against the others of
// the same probe, so that what changes for all cancels, as one series a node. Pure.
//
// The robust detector places the levels. Whether the newest one lies lower than chance has it is
// asked of series drawn from the noise of all nodes (split_null.hpp), and over all nodes and
// measures together the false discovery rate is held at 5 %: of healthy histories at most 5 in 100
// name a node, however many nodes there are.
#pragma once

#include "db/analysis/changepoint/segmentation.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::db::analysis {

/// Result of one node in one probe.
struct NodeScore {
    std::int64_t run_id = 0;  // of the probe
    int run = 0;              // its number
    std::optional<std::int64_t> submitted_us;
    std::string host, leaf;
    std::string path;      // of storage; "" = the network
    double rate = 0;       // bytes a second
    double of_median = 0;  // relative to the nodes of its probe; 0: to be computed from the rates
};

struct NodeDriftOptions {
    changepoint::SegmentationOptions robust{.min_effect = 0.05};
    int nodes_min = 4;     // nodes in a probe: with fewer, a slow node cannot be identified
    int probes_max = 100;  // newest of a node
    double false_discovery = 0.05;
    int days_max = 30;  // since a node's last probe, before the newest probe
};

/// A node whose newest level is below an earlier one.
struct NodeDrift {
    std::string host, leaf, path;
    int since_run = 0;  // the first probe of the level that is lower than `before`
    std::optional<std::int64_t> since_us;
    double before = 0, after = 0;            // medians, of the median of each probe
    double rate_before = 0, rate_after = 0;  // medians, bytes a second
    int probes_before = 0, probes_since = 0;
    double p = 1, adjusted_p = 1;

    [[nodiscard]] double effect() const { return after / before - 1; }
};

struct NodeDriftReport {
    int probes = 0;                              // probes that count
    int probes_small = 0;                        // with fewer than nodes_min nodes
    int nodes = 0;                               // with enough probes
    int nodes_few = 0;                           // with fewer
    int nodes_gone = 0;                          // not probed for days_max
    int series = 0;                              // tested: nodes times measures
    std::map<std::string, int> leaf_nodes = {};  // nodes with enough probes, by leaf; "" is no leaf
    std::vector<NodeDrift> drifted = {};         // largest first
    std::vector<NodeDrift> chance = {};  // lower, but expected by chance among so many; largest
                                         // first

    /// Whether there was anything to test.
    [[nodiscard]] bool decided() const { return series > 0; }
};

/// `scores` in any order.
[[nodiscard]] NodeDriftReport node_drift(std::vector<NodeScore> scores,
                                         NodeDriftOptions const& options = {});

}  // namespace osora::db::analysis
