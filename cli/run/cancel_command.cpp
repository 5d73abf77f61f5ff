// osora cancel: asks a run's controller to stop it and waits until it has ended.
#include "base/text/text.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/run/control_client.hpp"
#include "cli/run/journal_tail.hpp"
#include "cli/run/orphans.hpp"
#include "cli/run/run_command.hpp"
#include "cli/run/slurm/job_status.hpp"
#include "cli/run/slurm/queued_run.hpp"
#include "cli/run/stop_text.hpp"

#include "base/files/file_lock.hpp"
#include "base/host_name.hpp"
#include "base/text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace osora::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Longer than the controller waits for a graceful stop before it kills the workers.
constexpr auto kGracefulLimit = std::chrono::seconds(90);
constexpr auto kJobQueryEvery = std::chrono::seconds(4);
constexpr auto kFinalRecordsLimit = std::chrono::seconds(2);
constexpr auto kControllerStartLimit = std::chrono::seconds(5);  // until a controller takes the run

/// The state of the run's job in the queue now.
JobStatus job_status(Context const& context, RunFolder const& run) {
    return JobStatusQuery(context, run.paths.state().dir).of(run);
}

/// Whether the run ended in time; `view` is then its final state. Returns false if its job ended
/// without recording an end: a dead controller cannot write one.
Result<bool> wait_for_end(Context const& context, RunFolder const& run, protocol::RunView& view) {
    auto const& paths = run.paths;
    JournalTail tail(paths.journal());
    protocol::RunView fresh;
    auto deadline = Clock::now() + kGracefulLimit;
    auto look_at = Clock::now() + kJobQueryEvery;
    while (Clock::now() < deadline) {
        OSORA_TRY(auto const records, tail.read());
        for (auto const& each : records) fold(fresh, each);
        // The controller is still stopping the agents: a resume right after this must not find it.
        if (is_over(fresh) && !has_controller(paths)) {
            view = std::move(fresh);
            return true;
        }
        if (!records.empty()) continue;
        if (Clock::now() >= look_at) {
            bool const gone = job_status(context, run).place == JobPlace::gone;
            // The final records of the journal may still be on the way through a network file
            // system.
            if (gone) deadline = std::min(deadline, Clock::now() + kFinalRecordsLimit);
            look_at = Clock::now() + kJobQueryEvery;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
}

int report(KnownRun const& run, bool json, std::string const& text) {
    auto const& status = run.view.status;
    auto const left = orphans_of(run.view);
    if (json) {
        print_json("cancel", {{"run", run.folder.number},
                              {"state", protocol::to_json(status.state)},
                              {"verdict", protocol::to_json(status.verdict)},
                              {"checkpoint_step", status.checkpoint_step},
                              {"processes_left", left.processes},
                              {"nodes", left.nodes},
                              {"nodes_uncounted", left.uncounted}});
    } else {
        bool const counted = left.nodes + left.uncounted + left.processes > 0;
        cli::print("run {} {}{}\n", run.folder.number, text,
                   counted ? " · " + orphans_text(left) : std::string());
    }
    return left.processes == 0 ? kExitOk : kExitBad;
}

/// A controller that is starting takes its lock before it listens.
Result<void> ask_to_stop(protocol::RunPaths const& paths, protocol::ControlStop const& stop) {
    auto const deadline = Clock::now() + kControllerStartLimit;
    while (true) {
        auto sent = send_command(paths, stop);
        bool const unreachable = sent.has_error() && sent.error().code == Errc::unreachable;
        if (!unreachable || !FileLock::is_held(paths.lock()) || Clock::now() >= deadline) {
            return sent;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

/// There is no controller to ask: ends the run's remaining processes on this machine.
int cancel_without_controller(KnownRun const& run, Error const& why) {
    constexpr double kGraceSeconds = 5;
    int const number = run.folder.number;
    auto const& host = run.view.controller_host;
    if (!host.empty() && host != host_name()) {
        return fail(
            kExitUnreachable,
            fmt::format("run {0}: its controller is on {1}; osora cancel {0} there", number, host));
    }
    int const ended = end_processes(run.view.run_uuid, kGraceSeconds);
    auto const left = orphans_of(run.view);
    std::string const found =
        ended == 0 ? "nothing of it runs here"
                   : fmt::format("{} ended, {}", counted(ended, "process"), orphans_text(left));
    return fail(kExitUnreachable,
                fmt::format("run {} has no controller here: {} ({}); {}", number, found,
                            why.message, resume_hint(run.view.status, number)));
}

int cancel_without_job(int number, JobStatus const& stand) {
    return fail(kExitUnreachable,
                fmt::format("run {0} has no controller: its job {1} is over{2}; osora resume {0} "
                            "continues",
                            number, stand.job.job_id,
                            is_final(stand.job.state) ? ": " + state_text(stand.job.state)
                                                      : std::string()));
}

int run_cancel(Context const& context, Arguments const& arguments) {
    auto known = run_of(context, arguments, trust_of(arguments));
    if (known.has_error()) return fail(known.error());
    bool const json = arguments.has("--json");
    bool const now = arguments.has("--now");
    int const number = known->folder.number;
    if (auto const queued = cancel_waiting_job(context, known->folder)) {
        if (queued->has_error()) return fail(kExitUnreachable, queued->error());
        return report(*known, json, "was taken out of the queue");
    }
    if (awaits_next_job(known->folder, known->view)) {
        auto const stand = job_status(context, known->folder);
        if (is_at_work(stand)) {
            return fail(kExitUnreachable,
                        starting_job_text(running_job(stand, number, known->view)));
        }
    }
    if (is_over(known->view)) {
        return report(*known, json, "is over already: " + state_word(known->view, false));
    }
    if (auto const stand = job_status(context, known->folder); stand.place == JobPlace::gone) {
        return cancel_without_job(number, stand);
    }
    protocol::ControlStop const stop{.now = now, .reason = "osora cancel"};
    auto const sent = ask_to_stop(known->folder.paths, stop);
    if (sent.has_error() && sent.error().code == Errc::unreachable) {
        return cancel_without_controller(*known, sent.error());
    }
    if (sent.has_error()) {
        return fail(sent.error());
    }
    if (!json && !now) {
        cli::print("run {}: {}\n", number, stopping(known->view.status, "its step"));
        std::fflush(stdout);
    }
    auto const ended = wait_for_end(context, known->folder, known->view);
    if (ended.has_error()) return fail(kExitBad, ended.error());
    if (!*ended) {
        auto const stand = job_status(context, known->folder);
        if (stand.place == JobPlace::gone) return cancel_without_job(number, stand);
        RunningJob const at{.run = number, .job_id = stand.job.job_id, .cluster = stand.cluster};
        std::chrono::duration<double> const waited = kGracefulLimit;
        return fail(kExitUnreachable, still_stopping_text(at, waited.count(), now));
    }
    int const step = known->view.status.checkpoint_step;
    return report(*known, json,
                  fmt::format("stopped{} · {}",
                              step < 0 ? std::string() : ", checkpoint " + format_count(step),
                              resume_hint(known->view.status, number)));
}

}  // namespace

CommandSpec cancel_command() {
    return {
        .name = "cancel",
        .summary = "stop a run, with a checkpoint",
        .details =
            "Asks the run to stop after the step in progress and to save a checkpoint, "
            "waits until it has ended, and counts what is left of it on its nodes: the exit code "
            "is 1 when that is not nothing. With --now it ends at once, without a checkpoint.",
        .example = "osora cancel 42",
        .positionals = {run_positional()},
        .options = {{.name = "--now", .value = "", .help = "Without a checkpoint."},
                    trust_option(),
                    json_option()},
        .run = run_cancel};
}

}  // namespace osora::cli
