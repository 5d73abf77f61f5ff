// A short run as an experiment: started, followed silently, its median step time read from the
// history. osora tune and osora bisect repeat it.
#pragma once

#include "cli/command/context.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/trial/rehearsal_result.hpp"
#include "db/analysis/report/run_report.hpp"
#include "plan/config/config_files.hpp"

#include <cmath>
#include <string>
#include <vector>

namespace osora::cli {

/// "section.key=value" settings that make a run an experiment: no checkpoints, no probe before the
/// start, no relaunches, `steps` steps, a separate series. run_trial() stops a user program (job =
/// "exec") after as many steps; other jobs end there by themselves.
[[nodiscard]] std::vector<std::string> trial_settings(std::string const& job,
                                                      std::string const& series, int steps);

struct TrialEnd {
    double step_s = 0;  // step time over its mix of buckets: mean of their medians, after the
                        // warm-up
    double wall_s = 0;  // including start and end, without the wait in a queue
    int ranks = 0;      // also of a run that failed: it held them
    RehearsalSplit split = {};
    double samples_per_step = 0;
    double peak_memory_gib = NAN;    // of the rank with most; NaN: not known
    bool ran_out_of_memory = false;  // and repeated a step in smaller passes, or ended
    int exit_code = kExitOk;         // exit code of osora; `failure` says why it is not 0
    std::string failure = {};
    std::string run = {};  // "stage1-bisect-0043"; empty: no run was made
};
/// What a run was as a trial; osora took `command_s` for it. The report is an error: the history
/// does not have the run.
[[nodiscard]] TrialEnd trial_end(std::string run, int exit_code, double command_s,
                                 Result<db::analysis::RunReport> const& report);
[[nodiscard]] TrialEnd run_trial(Context const& context, plan::ConfigRequest const& request);

}  // namespace osora::cli
