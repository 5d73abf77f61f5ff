// The measurements of a worker's job "probe": collectives over the world and over groups of its
// ranks. Passed in job.json; the result is RUN_DIR/probe.json. Pure.
#pragma once

#include "base/result.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace osora::plan {

/// Groups that are measured at the same time; a rank is in at most one of them.
struct ProbeGroupSet {
    std::string name;  // "pairs round 2"; letters, digits, "-", "_", "." and blanks
    std::vector<std::vector<int>> groups;  // ranks; at least two each
    friend bool operator==(ProbeGroupSet const&, ProbeGroupSet const&) = default;
};

struct CollectiveRequest {
    /// Of all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv.
    std::vector<std::string> collectives;
    /// Counted as in nccl-tests: for all_gather the result, for reduce_scatter and all_to_all
    /// the input of a rank. Rounded up to whole values per rank.
    std::vector<std::int64_t> sizes_bytes{1 << 20, 1 << 25};
    std::vector<ProbeGroupSet> group_sets;
    bool world = true;       // all ranks as one group, first
    int iterations_min = 5;  // timed iterations, after one for warm-up
    int iterations_max = 50;
    double spread = 0.05;      // stop when MAD / median is below this
    double time_limit_s = 30;  // for all; what does not fit is skipped and named
    friend bool operator==(CollectiveRequest const&, CollectiveRequest const&) = default;
};

BOOST_DESCRIBE_STRUCT(ProbeGroupSet, (), (name, groups))
BOOST_DESCRIBE_STRUCT(CollectiveRequest, (),
                      (collectives, sizes_bytes, group_sets, world, iterations_min, iterations_max,
                       spread, time_limit_s))

constexpr std::int64_t kProbeBytesMax = std::int64_t{8} << 30;

/// invalid_input names the first part that cannot be measured with `world_size` ranks.
[[nodiscard]] Result<void> check_collective_request(CollectiveRequest const& request,
                                                    int world_size);

/// The measurements before planning runs of `nodes` x `ranks_per_node` ranks: the collectives of
/// training over all ranks, over the ranks of each node, and over groups of 2, 4, 8, ...
/// neighbouring nodes, all groups of a size at once. Each rank is in one group of every set, as
/// NCCL requires.
[[nodiscard]] CollectiveRequest job_shaped_request(int nodes, int ranks_per_node);

/// Median of times, and whether they suffice: iterations_min of them with a small spread, or
/// iterations_max. `times_s` must not be empty.
struct TimesSummary {
    double median_s = 0;
    bool enough = false;
};
[[nodiscard]] TimesSummary summarise_times(std::vector<double> times_s,
                                           CollectiveRequest const& request);

}  // namespace osora::plan
