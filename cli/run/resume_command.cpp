// osora resume: a new controller for a run that has stopped, in the same directory.
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/command/state_folder.hpp"
#include "cli/run/control_client.hpp"
#include "cli/run/run_command.hpp"
#include "cli/run/slurm/job_status.hpp"
#include "cli/run/slurm/submit_slurm.hpp"
#include "cli/run/started.hpp"
#include "plan/config/submitted_run.hpp"

#include "base/text/units.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

/// Why no other job may be submitted for the run, whose controller does not listen here; "": none
/// of its jobs waits or runs, as far as Slurm and the journal say.
std::string job_in_the_way(Context const& context, KnownRun const& run) {
    JobStatusQuery look(context, run.folder.paths.state().dir);
    auto const job = look.of(run.folder);
    if (job.place == JobPlace::pending) {
        return fmt::format(
            "run {0} waits in the queue as job {1}, which continues it; osora watch {0} follows "
            "it, osora cancel {0} takes it out",
            run.folder.number, job.job.job_id);
    }
    bool const over = is_over(run.view);
    bool const goes_on = awaits_next_job(run.folder, run.view);
    bool const may_come = run.view.records == 0 || seems_alive(run) || goes_on;
    if (job.place == JobPlace::unknown && job.job.job_id > 0 && may_come) {
        return fmt::format(
            "run {0}: job {1} was submitted, and Slurm does not report its state; osora watch {0} "
            "asks again",
            run.folder.number, job.job.job_id);
    }
    // The queue may be a moment behind a run that has ended.
    if (!is_at_work(job) || (over && !goes_on)) return "";
    auto const at = running_job(job, run.folder.number, run.view);
    return over ? starting_job_text(at) : running_job_text(at);
}

int run_resume(Context const& context, Arguments const& arguments) {
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error());
    if (auto const own = own_state(context, *state); own.has_error()) return fail(own.error());
    auto const known = run_of(context, arguments, trust_of(arguments));
    if (known.has_error()) return fail(known.error());
    RunFolder const& folder = known->folder;
    protocol::RunView const& view = known->view;
    if (has_controller(folder.paths)) {
        return fail(kExitUsage,
                    fmt::format("run {0} is active; osora watch {0} follows it", folder.number));
    }
    if (is_over(view) && view.status.verdict == protocol::Verdict::ok) {
        return fail(
            kExitUsage,
            fmt::format("run {0} has ended well; to continue with changes: osora submit --from "
                        "{0} --set ...",
                        folder.number));
    }
    auto const submitted = plan::read_submitted_run(folder.paths);
    if (submitted.has_error()) return fail(kExitUsage, submitted.error());
    auto const& config = submitted->config;
    bool const queued = is_queued(context, config);
    if (queued) {
        auto const job = job_in_the_way(context, *known);
        if (!job.empty()) return fail(kExitUsage, job);
    }
    bool const json = arguments.has("--json");
    if (!json) {
        int const step = view.status.checkpoint_step;
        cli::print("run {} · resume {}\n", folder.name,
                   view.status.exec ? std::string("by starting its command again")
                   : step < 0       ? std::string("from the start: there is no checkpoint")
                                    : "from checkpoint " + format_count(step));
        std::fflush(stdout);
    }
    StartOptions const options{.json = json,
                               .attached = !arguments.has("--detach"),
                               .resume = is_over(view),
                               .known_records = view.records};
    if (queued) return queue_and_follow(context, folder, config, options);
    return start_and_follow(context, folder, options);
}

}  // namespace

CommandSpec resume_command() {
    return {.name = "resume",
            .summary = "continue a run that has stopped",
            .details =
                "Starts a new controller for a run that was stopped, failed, or lost its "
                "controller. It continues from its last checkpoint in the same run directory, "
                "with the same run file and plan.",
            .example = "osora resume 42",
            .positionals = {run_positional()},
            .options = {{.name = "--detach",
                         .value = "",
                         .help = "Return at once; the run continues without this terminal."},
                        trust_option(),
                        json_option("Print JSON lines: events, progress, end.")},
            .run = run_resume};
}

}  // namespace osora::cli
