// After a run: whether it was slower than the runs before it that do the same, whether that was
// chance, and what to do then.
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
    std::string text;       // lines for people; empty: no slower, or too few runs to tell
    int good = 0, bad = 0;  // runs to compare; 0: none
    double step_s = 0;      // of the slow run
    int ranks = 0;
    bool confirmed = false;  // two of two; else one slow run, which may be an odd one
};

/// Pure: of the runs of a series, the word on `number`, when it is the newest of its group.
[[nodiscard]] RegressionNotice regression_notice(std::vector<db::analysis::SeriesRun> const& runs,
                                                 int number);
/// Pure: what the repeat of a suspected run says.
[[nodiscard]] RegressionNotice regression_notice(RegressionNotice const& suspected,
                                                 db::analysis::Repeat const& repeat);

/// Steps of the repeat of a run of `steps` steps; 0: not even the fewest fit the budget.
[[nodiscard]] int repeat_steps(int steps, RegressionNotice const& suspected, double budget_gpu_h);

/// The word with its commands, for somebody who watched a run to its good end; nothing where
/// [bisect] auto is "off".
void tell_regression(Context const& context, RunFolder const& run);

/// What [bisect] auto asks for at the end of a run that went well: "off": nothing; "suggest": the
/// word, with the commands; "run": a suspected run is repeated for a few steps, and what is
/// confirmed is bisected. History that cannot be read says nothing.
void follow_up(Context const& context, RunFolder const& run, plan::RunConfig const& config,
               plan::ConfigRequest const& request);

}  // namespace osora::cli
