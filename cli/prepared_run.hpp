// From a run file to a run that goes: what `osora submit` and `osora rehearse` share. Checks,
// plans, makes the run directory, starts the controller or queues the job, follows.
#pragma once

#include "cli/plan_run.hpp"
#include "cli/rehearsal_source.hpp"
#include "cli/started.hpp"
#include "cli/submission.hpp"
#include "plan/config/config_files.hpp"

#include <boost/system/result.hpp>

#include <optional>

namespace osora::cli {

struct PreparedRun {
    Submission submission;
    PlannedRun planned;
    std::optional<TrainedRun> trained;  // job = "rehearse": what it is held against
};

/// The run file's text, its problems, its plan; on failure the exit code of what was printed.
/// `json`: problems as JSON.
[[nodiscard]] boost::system::result<PreparedRun, int> prepare_run(
    Context const& context, plan::ConfigRequest const& request, bool json);

struct StartedRun {
    int exit_code = 0;  // of osora
    RunFolder folder;   // number 0: no run was made
};
/// Nothing is left behind of a run that cannot start.
[[nodiscard]] StartedRun start_run(Context const& context, PreparedRun prepared,
                                   StartOptions const& options);

}  // namespace osora::cli
