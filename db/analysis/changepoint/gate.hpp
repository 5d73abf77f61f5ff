// The gate for one new run: is it slower than the runs before it? Pure. A suspected run is repeated
// with the same work; two of two confirm it, so a single slow run (about 5 % are slow) is
// dismissed.
#pragma once

#include "db/analysis/changepoint/change_point.hpp"

#include <boost/describe/enum.hpp>

#include <span>
#include <string>

namespace osora::db::analysis::changepoint {

struct GateOptions {
    double min_effect = 0.03;    // of the level; a smaller change is not a regression
    double z_limit = 4;          // distance in units of the noise
    int history = 20;            // number of newest runs that make the level
    int history_min = 5;         // fewer runs decide nothing
    double noise_floor = 0.005;  // of the level
    Direction direction = Direction::higher_is_worse;
};

enum class GateState {
    undecided,  // too few earlier runs, or no value
    clear,
    suspect,    // repeat the run
    confirmed,  // its repeat was slow too
    dismissed   // the repeat was as fast as earlier runs
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

/// `attempts` is the run, or the run and its repeat. Uses logarithms when all values are positive;
/// ignores values in `before` that are not finite; an attempt that is not finite is undecided.
[[nodiscard]] GateDecision gate(std::span<double const> before, std::span<double const> attempts,
                                GateOptions const& options = {});

/// The decision about the newest of `values`, in the order of the runs: compared with the runs of
/// the level that began at `level_start` if they are enough, else with all; a suspected run
/// directly before it counts as its first attempt.
[[nodiscard]] GateDecision gate_newest(std::span<double const> values, int level_start,
                                       GateOptions const& options = {});

}  // namespace osora::db::analysis::changepoint
