// What limits the steps of a run, in a fixed vocabulary, with the figures that show it and what to
// do next. Pure; reports and the end of `osora submit` and `watch` print it (docs/guide/slow.md).
#pragma once

#include "db/record/run_record.hpp"
#include "protocol/steps/straggler.hpp"

#include <boost/describe.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::db::analysis {

/// Shares are of the step time; NaN: not known.
struct Symptoms {
    int number = 0;  // of the run
    int steps = 0;   // that the figures are over
    double data_share = std::nan("");
    double comm_share = std::nan("");  // exposed, of the rank that waits least
    double wait_share = std::nan("");  // of the others, for a slower rank
    std::optional<protocol::Straggler> straggler = {};
    std::string slower = {};              // why the steps count as slower than at first; empty: not
    double memory_growth = std::nan("");  // of the rank with most, from early to late; 0.1 = 10 %
};

struct Bottleneck {
    std::string verdict;   // one of kBottlenecks
    std::string evidence;  // "ranks wait for data 31 % of the step"
    std::string next;      // a command or a setting; empty: nothing to do
    friend bool operator==(Bottleneck const&, Bottleneck const&) = default;
};
BOOST_DESCRIBE_STRUCT(Bottleneck, (), (verdict, evidence, next))

inline constexpr std::string_view kBottlenecks[]{
    "input-bound",  "communication-bound", "straggler rank",
    "memory creep", "regression",          "compute-bound",
    "fine"};

constexpr int kBottleneckSteps = 10;      // of fewer nothing is said
constexpr double kBottleneckShare = 0.1;  // of the step, from which on a part limits it

/// The one that costs most first; empty when too little is known. "compute-bound" and "fine" come
/// alone: the step is nearly all compute, or no part of it is large.
[[nodiscard]] std::vector<Bottleneck> bottlenecks(Symptoms const& symptoms);

/// Growth of the resident memory over the steps `used`: the median of the last quarter over that of
/// the second one, minus 1. NaN: fewer than 100 steps, or less than 256 MiB.
[[nodiscard]] double memory_growth(StepTable const& steps, std::vector<std::size_t> const& used);

}  // namespace osora::db::analysis
