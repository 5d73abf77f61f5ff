// The result of `osora diff A B`, as a value: how fast both are, the parts of the gap, how well
// both use their ranks, what differs. Pure; the command prints it.
#pragma once

#include "db/analysis/attribution/differences.hpp"
#include "db/analysis/attribution/waterfall.hpp"
#include "db/analysis/history.hpp"
#include "protocol/steps/straggler.hpp"

#include <boost/describe/enum.hpp>

#include <optional>
#include <string>
#include <vector>

namespace osora::db::analysis {

/// Efficiencies of the POP project (co-design.pop-coe.eu/metrics), from what a step records: useful
/// is forward + backward + optimizer, and the rank that works most is the mean rank plus what that
/// one waits for it.
///   parallel = mean useful / step = load_balance x communication
///   load_balance = mean useful / most useful, as TALP's parallel efficiency splits it
///   communication = most useful / step: transfers, data wait and the host are all that is left
struct Efficiency {
    double parallel = kUnknown, load_balance = kUnknown, communication = kUnknown;
};

struct ComparedSide {
    std::vector<RunSummary> runs;                            // of the same side, in the order in
                                                             // which the user named them
    double step_s_median = kUnknown, step_s_mad = kUnknown;  // of the runs' medians
    Efficiency efficiency;
    std::optional<protocol::Straggler> straggler;  // of the last run
    std::optional<RankWork> slowest_rank;          // that straggler's own work
    double checkpoint_s = kUnknown;                // per step, not part of the step time
};

enum class SpeedVerdict { same, slower, faster, undecided, other_work };
BOOST_DESCRIBE_ENUM(SpeedVerdict, same, slower, faster, undecided, other_work)

struct RunComparison {
    ComparedSide a, b;
    SpeedVerdict verdict = SpeedVerdict::undecided;
    std::string other_work;  // why seconds cannot be compared: "model.arch ..."
    Waterfall waterfall;     // empty for other_work
    /// A's useful time, scaled to B's samples per rank, over B's (computation efficiency).
    double computation = kUnknown;
    std::vector<Difference> differences;  // of the last runs
};

/// B is slower (or faster) when the gap is at least this part of A's step and its interval excludes
/// 0.
constexpr double kLeastGap = 0.03;

/// Each side has at least one run; several runs are repeats of the same thing.
[[nodiscard]] RunComparison compare_runs(std::vector<RunHistory> const& a,
                                         std::vector<RunHistory> const& b);

}  // namespace osora::db::analysis
