// From a run file to a run that goes: what all commands share that start one. Checks,
// plans, makes the run directory, starts the controller or queues the job, follows.
#pragma once

#include "cli/plan/plan_run.hpp"
#include "cli/plan/rehearsal_source.hpp"
#include "cli/run/started.hpp"
#include "cli/run/submission.hpp"
#include "plan/config/config_files.hpp"

#include <boost/system/result.hpp>

#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

struct PreparedRun {
    Submission submission;
    PlannedRun planned;
    std::optional<TrainedRun> trained;  // job = "rehearse": what it is held against
    std::vector<std::string> notes;     // for people: keys without effect, a calibration not used
};

/// The run file's text (without a run file: of --set alone), its problems, its plan; on failure the
/// exit code of what was printed. `json`: problems as JSON.
[[nodiscard]] boost::system::result<PreparedRun, int> prepare_run(
    Context const& context, plan::ConfigRequest const& request, bool json);

/// "note: ..." on stderr, a line each.
void print_notes(PreparedRun const& prepared);

struct StartedRun {
    int exit_code = 0;  // of osora
    RunFolder folder;   // number 0: no run was made
};
/// Nothing is left behind of a run that cannot start.
[[nodiscard]] StartedRun start_run(Context const& context, PreparedRun prepared,
                                   StartOptions const& options);

}  // namespace osora::cli
