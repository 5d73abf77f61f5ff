// osora watch: follows a run that another process has started.
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/run/control_client.hpp"
#include "cli/run/follow/follow.hpp"
#include "cli/run/journal_tail.hpp"
#include "cli/run/run_command.hpp"
#include "cli/run/slurm/job_status.hpp"
#include "cli/run/slurm/slurm_job.hpp"
#include "cli/trial/regression_notice.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

int follow_to_end(Context const& context, RunFolder const& folder, bool json) {
    if (auto record = read_job_record(folder.paths)) {
        auto const view = read_view(folder.paths.journal());
        bool const between =
            !record->cancelled && view.has_value() && awaits_next_job(folder, *view) &&
            JobStatusQuery(context, folder.paths.state().dir).of(folder).place != JobPlace::gone;
        QueuedRun job(context, folder, std::move(*record));
        return follow(context, folder,
                      {.json = json,
                       .nodes = true,
                       .job = &job,
                       .only_watch = true,
                       .between_jobs = between});
    }
    return follow(context, folder, {.json = json, .nodes = true, .controller = nullptr});
}

int run_watch(Context const& context, Arguments const& arguments) {
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error());
    auto const folder = find_run(*state, *arguments.value("RUN"));
    if (folder.has_error()) {
        return fail(folder.error());
    }
    bool const json = arguments.has("--json");
    if (!json) {
        cli::print("run {} · {}\n", folder->name, folder->paths.dir.string());
        std::fflush(stdout);
    }
    int const code = follow_to_end(context, *folder, json);
    if (code == kExitOk && !json) tell_regression(context, *folder);
    return code;
}

}  // namespace

CommandSpec watch_command() {
    return {
        .name = "watch",
        .summary = "follow a run: its events so far, then live progress",
        .details =
            "Prints what happened to the run so far, then its progress until it ends. On a "
            "terminal a table of the nodes is kept up to date: s/step, the own work of the "
            "slowest rank before it waits for the others, waiting, memory. A rank that "
            "arrives last in most steps is named. If the run was slower than earlier ones, "
            "osora says so at the end. "
            "Ctrl-C detaches and does not affect the run. The exit code is that of the run; 4 when "
            "its controller is gone.",
        .example = "osora watch 42",
        .positionals = {run_positional()},
        .options = {json_option("Print JSON lines: events, progress, end.")},
        .run = run_watch};
}

}  // namespace osora::cli
