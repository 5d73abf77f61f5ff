// From a run file to a running run, for all commands that start one: checks, plans, makes the run
// directory, starts the controller or queues the job, follows.
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
    std::optional<TrainedRun> trained;  // job = "rehearse": the run that it is compared with
    std::vector<std::string> notes;     // for people: keys without effect, an unused calibration
};

/// The run file's text (without a run file: of --set alone), its problems, its plan. On failure:
/// the error is printed; this is the exit code. `json`: prints problems as JSON.
[[nodiscard]] boost::system::result<PreparedRun, int> prepare_run(
    Context const& context, plan::ConfigRequest const& request, bool json);

/// Prints "note: ..." on stderr, one per line.
void print_notes(PreparedRun const& prepared);

struct StartedRun {
    int exit_code = 0;  // exit code of osora
    RunFolder folder;   // number 0: no run was made
};
/// Leaves no files if the run cannot start.
[[nodiscard]] StartedRun start_run(Context const& context, PreparedRun prepared,
                                   StartOptions const& options);

}  // namespace osora::cli
