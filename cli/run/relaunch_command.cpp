// osora relaunch: asks a run's controller to stop the workers and to launch them again from a
// checkpoint, and waits until they run.
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "base/text/utf8.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/run/control_client.hpp"
#include "cli/run/journal_tail.hpp"
#include "cli/run/run_command.hpp"
#include "cli/run/slurm/job_status.hpp"
#include "cli/run/stop_text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace osora::cli {
namespace {

using protocol::RunState;

/// The longest stop (60 s) and a slow start of the ranks.
constexpr auto kRunsAgainLimit = std::chrono::minutes(10);
/// Without news, when no controller of the run is known to live on this host: longer than a
/// controller waits for a graceful stop.
constexpr auto kSilenceLimit = std::chrono::seconds(90);

/// The wait for an attempt newer than `after`, as the journal tells it.
struct Relaunched {
    protocol::RunView view;
    int steps_before = 0;  // that the attempt before it had done
    bool runs = false;     // a newer attempt runs; otherwise the run is over, or `lost`
    bool lost = false;     // no controller, or no news for too long
};

Result<Relaunched> wait_for_attempt(KnownRun const& run, int after) {
    JournalTail tail(run.folder.paths.journal());
    Relaunched wait;
    auto const begin = std::chrono::steady_clock::now();
    auto heard = begin;
    while (true) {
        OSORA_TRY(auto const records, tail.read());
        for (auto const& each : records) {
            auto const& status = wait.view.status;
            int const done = wait.view.steps_done;
            bool const newer = status.attempt > after;
            fold(wait.view, each);
            if (!newer && status.attempt > after) wait.steps_before = done;
            wait.runs = status.attempt > after && status.state == RunState::running;
            if (wait.runs) return wait;  // whatever has happened since
        }
        if (is_over(wait.view)) return wait;
        auto const now = std::chrono::steady_clock::now();
        if (!records.empty() || has_controller(run.folder.paths)) heard = now;
        wait.lost = now - begin > kRunsAgainLimit || now - heard > kSilenceLimit;
        if (wait.lost) return wait;
        if (records.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
}

int ended(int number, protocol::RunView const& view) {
    std::string const word =
        boost::describe::enum_to_string(view.status.verdict, static_cast<char const*>("?"));
    bool const ok = view.status.verdict == protocol::Verdict::ok;
    std::string const next =
        ok ? fmt::format("; to continue with changes: osora submit --from {} --set ...", number)
           : fmt::format(": osora resume {} continues it", number);
    return fail(kExitUsage, fmt::format("run {} has ended ({}){}", number, word, next));
}

int report(int number, bool json, Relaunched const& done) {
    auto const& status = done.view.status;
    int const repeated = std::max(done.steps_before - done.view.start_step, 0);
    if (json) {
        print_json("relaunch", {{"run", number},
                                {"attempt", status.attempt},
                                {"state", protocol::to_json(status.state)},
                                {"cause", status.cause},
                                {"start_step", done.view.start_step},
                                {"steps_repeated", repeated},
                                {"checkpoint_step", status.checkpoint_step},
                                {"restarts", status.restarts},
                                {"restarts_max", status.restarts_max},
                                {"asked_relaunches", status.asked_relaunches}});
        return kExitOk;
    }
    std::string from;
    if (!status.exec) {
        from = status.checkpoint_step < 0
                   ? " from the start (no checkpoint yet)"
                   : " from checkpoint " + format_count(status.checkpoint_step);
        from += " · " + counted(repeated, "step") + " repeated";
    }
    cli::print("run {}: attempt {} runs{} · restarts after faults: {} of {}\n", number,
               status.attempt, from, status.restarts, status.restarts_max);
    return kExitOk;
}

int fail_asking(KnownRun const& run, Error const& why) {
    int const number = run.folder.number;
    if (why.code == Errc::not_found) {
        return fail(kExitUsage,
                    fmt::format("run {0}: its controller is of an older osora and cannot relaunch; "
                                "osora cancel {0}, then osora resume {0} does the same",
                                number));
    }
    if (why.code == Errc::unreachable) {
        auto const& host = run.view.controller_host;
        return fail(kExitUnreachable,
                    fmt::format("run {0} has no controller that answers here{1}: {2}; osora status "
                                "{0}",
                                number, host.empty() ? "" : " (it was started on " + host + ")",
                                why.message));
    }
    return fail(Error{why.code, fmt::format("run {}: {}", number, why.message)});
}

int run_relaunch(Context const& context, Arguments const& arguments) {
    auto known = run_of(context, arguments, trust_of(arguments));
    if (known.has_error()) return fail(known.error());
    bool const json = arguments.has("--json");
    int const number = known->folder.number;
    protocol::ControlRelaunch asked;
    asked.now = arguments.has("--now");
    asked.user = variable_or(context.environment, "USER", std::to_string(::geteuid()));
    asked.reason = arguments.value("--reason").value_or("");
    if (asked.reason.size() > protocol::kRelaunchTextMax || !is_utf8(asked.reason)) {
        return fail(kExitUsage,
                    fmt::format("--reason: {} bytes; it takes at most {} bytes of UTF-8",
                                asked.reason.size(), protocol::kRelaunchTextMax));
    }
    bool const over = is_over(known->view);
    if (over && !awaits_next_job(known->folder, known->view)) return ended(number, known->view);
    JobStatusQuery look(context, known->folder.paths.state().dir);
    auto const job = look.of(known->folder);
    if (over && job.place == JobPlace::running) {
        return fail(kExitUsage, starting_job_text(running_job(job, number, known->view)));
    }
    if (job.place == JobPlace::pending) {
        return fail(kExitUsage, fmt::format("run {} waits in the queue as job {}: no worker runs "
                                            "that could be launched again",
                                            number, job.job.job_id));
    }
    if (job.place == JobPlace::gone) {
        return fail(kExitUnreachable,
                    fmt::format("run {0} has no controller: its job {1} is over; osora resume {0} "
                                "continues",
                                number, job.job.job_id));
    }
    auto const reply = ask_relaunch(known->folder.paths, asked);
    if (reply.has_error()) return fail_asking(*known, reply.error());
    // A controller that took the request from a file tells no attempt.
    bool const by_file = reply->message.empty();
    int const after = by_file ? known->view.status.attempt : reply->attempt;
    if (!json) {
        bool const waits = reply->message == "launching";
        cli::print("run {}: {}\n", number,
                   waits       ? "its workers are already being launched again"
                   : asked.now ? "stopping its workers, to launch them again"
                               : stopping(known->view.status, "its step") +
                                     ", to launch its workers again");
        std::fflush(stdout);
    }
    auto const done = wait_for_attempt(*known, after);
    if (done.has_error()) return fail(kExitBad, done.error());
    if (done->runs) return report(number, json, *done);
    if (done->lost) {
        return fail(kExitUnreachable,
                    fmt::format("run {0} does not run again yet; osora status {0}", number));
    }
    return fail(kExitBad,
                fmt::format("run {0} ended before its workers were launched again: {1}{2}", number,
                            state_word(done->view, false),
                            done->view.status.cause.empty() ? "" : ": " + done->view.status.cause));
}

}  // namespace

CommandSpec relaunch_command() {
    return {.name = "relaunch",
            .summary = "start the workers of an active run again",
            .details =
                "Asks the run to stop its workers after the step in progress with a checkpoint, "
                "and to launch them again from it, on the same nodes and in the same job: for "
                "workers in a bad state, or after a change of driver or files. It does not count "
                "against faults.max_restarts. With --now workers end at once, and the newest "
                "checkpoint counts.",
            .example = "osora relaunch 42 --reason 'new driver'",
            .positionals = {run_positional()},
            .options = {{.name = "--now", .value = "", .help = "Without a checkpoint first."},
                        {.name = "--reason",
                         .value = "TEXT",
                         .help = "Why; the run's events and its report show it (200 bytes)."},
                        trust_option(),
                        json_option()},
            .run = run_relaunch};
}

}  // namespace osora::cli
