// After a run: whether it was slower than earlier runs of the same work, whether that was chance,
// and what to do then.
#pragma once

#include "cli/command/context.hpp"
#include "cli/run/runs.hpp"
#include "db/analysis/confirmation.hpp"
#include "plan/config/config_files.hpp"
#include "plan/config/run_config.hpp"

#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

struct RegressionNotice {
    std::string text;       // lines for people; empty: not slower, or too few runs to decide
    int good = 0, bad = 0;  // runs to compare; 0: none
    double step_s = 0;      // of the slow run
    int ranks = 0;
    bool confirmed = false;   // two slow runs of two; else one slow run, which may be chance
    int last_stage_step = 0;  // where its last [[stage]] begins; 0: it has none
};

/// The notice about `number`, from the runs of a series, when it is the newest of its group. Pure.
[[nodiscard]] RegressionNotice regression_notice(std::vector<db::analysis::SeriesRun> const& runs,
                                                 int number);
/// The notice after the repeat of a suspected run. Pure.
[[nodiscard]] RegressionNotice regression_notice(RegressionNotice const& suspected,
                                                 db::analysis::Repeat const& repeat);

/// Steps of the repeat of a run with `steps` steps; 0: not even the minimum fits the budget.
[[nodiscard]] int repeat_steps(int steps, RegressionNotice const& suspected, double budget_gpu_h);

/// The notice with its commands, for somebody who watched a run succeed; empty if [bisect] auto is
/// "off".
void tell_regression(Context const& context, RunFolder const& run);

/// Does what [bisect] auto says after a successful run: "off": nothing; "suggest": prints the
/// notice with the commands; "run": repeats a suspected run for a few steps, and bisects a
/// confirmed regression. Prints nothing if the history cannot be read.
void follow_up(Context const& context, RunFolder const& run, plan::RunConfig const& config,
               plan::ConfigRequest const& request);

}  // namespace osora::cli
