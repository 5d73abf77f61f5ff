// The gate for one new run: is it slower than the runs before it? Pure. A suspect is run once more
// with the same work; two of two confirm, so a run that was slow once (some 5 % are) is dismissed.
#pragma once

#include "db/analysis/changepoint/change_point.hpp"

#include <boost/describe/enum.hpp>

#include <span>
#include <string>

namespace osora::db::analysis::changepoint {

struct GateOptions {
    double min_effect = 0.03;    // of the level; less is no regression
    double z_limit = 4;          // distance in noises
    int history = 20;            // newest runs that make the level
    int history_min = 5;         // fewer say nothing
    double noise_floor = 0.005;  // of the level
    Direction direction = Direction::higher_is_worse;
};

enum class GateState {
    undecided,  // too few runs before, or no value
    clear,
    suspect,    // repeat the run
    confirmed,  // so was its repeat
    dismissed   // the repeat was as fast as ever
};
BOOST_DESCRIBE_ENUM(GateState, undecided, clear, suspect, confirmed, dismissed)

struct GateDecision {
    GateState value = GateState::undecided;
    std::string reason;         // "12 % slower than the median of 18 runs, 7.3 noises"
    double level = kNotKnown;   // median of the runs before
    double effect = kNotKnown;  // of the newest attempt, positive: worse
    double z = kNotKnown;       // (attempt - level) / max(1.4826 MAD, floor), positive: worse
    int history = 0;            // runs in the level
};

/// `attempts` is the run, or the run and its repeat. Logarithms when all values are positive;
/// values that are not finite are left out of `before`, and an attempt that is not is undecided.
[[nodiscard]] GateDecision gate(std::span<double const> before, std::span<double const> attempts,
                                GateOptions const& options = {});

/// The word on the newest of `values`, run after run: against the runs of the level that began at
/// `level_start` when they are enough, else against all; a suspect run before it is its first
/// attempt.
[[nodiscard]] GateDecision gate_newest(std::span<double const> values, int level_start,
                                       GateOptions const& options = {});

}  // namespace osora::db::analysis::changepoint
