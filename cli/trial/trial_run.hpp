// A short run as an experiment: started, followed in silence, and its median step time read from
// history. What osora tune and osora bisect repeat.
#pragma once

#include "cli/command/context.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/trial/rehearsal_result.hpp"
#include "plan/config/config_files.hpp"

#include <string>
#include <vector>

namespace osora::cli {

/// "section.key=value" settings that make a run an experiment: no checkpoints, no probe before the
/// start, no relaunches, `steps` steps, a series of its own. run_trial() stops a program of the
/// user's own (job = "exec") behind so many; other jobs end there by themselves.
[[nodiscard]] std::vector<std::string> trial_settings(std::string const& job,
                                                      std::string const& series, int steps);

struct TrialEnd {
    double step_s = 0;  // of its mix of buckets: mean of their medians, behind the warm-up
    double wall_s = 0;  // with start and end
    int ranks = 0;
    RehearsalSplit split = {};
    double samples_per_step = 0;
    int exit_code = kExitOk;  // of osora; else `failure` says why
    std::string failure = {};
    std::string run = {};  // "stage1-bisect-0043"; empty: none was made
};
[[nodiscard]] TrialEnd run_trial(Context const& context, plan::ConfigRequest const& request);

}  // namespace osora::cli
