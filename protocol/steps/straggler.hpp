// Which rank holds the others up? A slow rank does its own work longer and arrives at the
// collective after the others; a slow network lets all ranks arrive together and wait. Decided from
// times of arrival, since the wall time of a backward pass with all_reduce in it is alike on all
// ranks. Pure.
#pragma once

#include "protocol/journal/run_events.hpp"

#include <boost/describe.hpp>

#include <optional>
#include <vector>

namespace osora::protocol {

/// StepMetrics::arrival_s of one step over ranks. NaN, -1: not reported.
struct Arrivals {
    double mean_s = 0, latest_s = 0;
    int latest_rank = -1;
    int ranks = 0;
};
[[nodiscard]] Arrivals arrivals_of(MergedSteps const& steps, std::size_t index);
/// Merges the ranks of both.
void merge(Arrivals& into, Arrivals const& other);

struct ArrivalRow {
    Arrivals arrivals;
    int ranks = 0;
    double step_time_s = 0;
};
struct Straggler {
    int rank = 0;
    double late_s = 0;            // after the mean of the others, over the steps it came last in
    double share = 0;             // of the step time, 0..1
    int steps = 0, of_steps = 0;  // it came last in `steps` of `of_steps`
};
BOOST_DESCRIBE_STRUCT(Straggler, (), (rank, late_s, share, steps, of_steps))

/// The rank that came last in three quarters of at least kStragglerSteps steps, by at least
/// kStragglerShare of a step; nullopt when there is none.
constexpr int kStragglerSteps = 10;
constexpr double kStragglerShare = 0.05;
[[nodiscard]] std::optional<Straggler> find_straggler(std::vector<ArrivalRow> const& rows);

}  // namespace osora::protocol
