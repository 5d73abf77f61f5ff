// What the collectives of training steps cost a rank, by class. Ranks count them step by step;
// agents report sums over their ranks and over steps (protocol/steps/collective_reducer.hpp), which
// the journal stores unchanged.
#pragma once

#include <boost/describe.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace osora::protocol {

/// The collectives of one class.
struct CollectiveCost {
    std::string name;        // of the class: "gradients all_reduce", "stop vote"
    std::string collective;  // "all_reduce", "barrier", ...: the names that probes use
    std::string backend;     // "gloo", "nccl"
    int ranks = 0;           // of the group
    std::int64_t calls = 0;
    std::int64_t bytes = 0;  // of whole operations, counted as nccl-tests does
    /// While at least one of them was in progress, from its start on this rank to its end:
    /// operations that queue after each other are not counted twice.
    double seconds = 0;
    double exposed_s = 0;  // time of the step in which this rank only waited for them
};

/// Sums over the ranks of a node and over steps.
struct CollectiveSum {
    std::string bucket;           // that those steps trained
    bool warmup = false;          // of the first steps of the launch
    std::int64_t rank_steps = 0;  // steps with such collectives, counted for each rank
    CollectiveCost cost;
};
struct CollectiveSums {
    static constexpr std::string_view kType = "collectives";
    int attempt = 0, node = 0;
    int number = 0;  // of this node in this attempt, from 0
    std::vector<CollectiveSum> sums;
};

/// Whether its numbers are possible: it comes from a worker, a network or a file.
[[nodiscard]] bool is_sane(CollectiveCost const& cost);
[[nodiscard]] bool is_sane(CollectiveSums const& sums);

BOOST_DESCRIBE_STRUCT(CollectiveCost, (),
                      (name, collective, backend, ranks, calls, bytes, seconds, exposed_s))
BOOST_DESCRIBE_STRUCT(CollectiveSum, (), (bucket, warmup, rank_steps, cost))
BOOST_DESCRIBE_STRUCT(CollectiveSums, (), (attempt, node, number, sums))

}  // namespace osora::protocol
