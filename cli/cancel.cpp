// osora cancel: asks a run's controller to stop it and waits until it has ended.
#include "cli/commands.hpp"
#include "cli/control_client.hpp"
#include "cli/exit_code.hpp"
#include "cli/journal_tail.hpp"
#include "cli/json_output.hpp"
#include "cli/run_command.hpp"
#include "cli/run_file_command.hpp"

#include "base/units.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace osora::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Longer than the controller gives an orderly stop before it kills.
constexpr auto kOrderlyLimit = std::chrono::seconds(90);

/// Whether the run ended in time; `view` is then its last state.
Result<bool> wait_for_end(protocol::RunPaths const& paths, protocol::RunView& view) {
    JournalTail tail(paths.journal());
    protocol::RunView fresh;
    auto const deadline = Clock::now() + kOrderlyLimit;
    while (Clock::now() < deadline) {
        OSORA_TRY(auto const records, tail.read());
        for (auto const& each : records) fold(fresh, each);
        // Its controller still dismisses the agents: a resume right after this must find it gone.
        if (is_over(fresh) && !has_controller(paths)) {
            view = std::move(fresh);
            return true;
        }
        if (records.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
}

int report(KnownRun const& run, bool json, std::string const& text) {
    auto const& status = run.view.status;
    if (json) {
        print_json("cancel", {{"run", run.folder.number},
                              {"state", protocol::to_json(status.state)},
                              {"verdict", protocol::to_json(status.verdict)},
                              {"checkpoint_step", status.checkpoint_step}});
    } else {
        fmt::print("run {} {}\n", run.folder.number, text);
    }
    return kExitOk;
}

int run(Context const& context, Arguments const& arguments) {
    auto known = run_of(context, arguments);
    if (known.has_error()) return fail(exit_code_for(known.error().code), known.error().message);
    bool const json = arguments.has("--json");
    bool const now = arguments.has("--now");
    int const number = known->folder.number;
    if (is_over(known->view)) {
        return report(*known, json, "is over already: " + state_word(known->view, false));
    }
    protocol::ControlStop const stop{.now = now, .reason = "osora cancel"};
    auto const sent = send_command(known->folder.paths, stop);
    if (sent.has_error() && sent.error().code == Errc::unreachable) {
        return fail(kExitUnreachable,
                    fmt::format("run {0} has no controller here: nothing of it runs ({1}); osora "
                                "resume {0} continues",
                                number, sent.error().message));
    }
    if (sent.has_error()) {
        return fail(exit_code_for(sent.error().code), sent.error().message);
    }
    if (!json && !now) {
        fmt::print("run {}: stopping after its step, with a checkpoint\n", number);
        std::fflush(stdout);
    }
    auto const ended = wait_for_end(known->folder.paths, known->view);
    if (ended.has_error()) return fail(kExitBad, ended.error().message);
    if (!*ended) {
        return fail(kExitUnreachable,
                    fmt::format("run {0} is still stopping; osora cancel {0} --now", number));
    }
    int const step = known->view.status.checkpoint_step;
    return report(
        *known, json,
        fmt::format("stopped{} · osora resume {} continues",
                    step < 0 ? std::string() : ", checkpoint " + format_count(step), number));
}

}  // namespace

CommandSpec cancel_command() {
    return {
        .name = "cancel",
        .summary = "stop a run, with a checkpoint",
        .details =
            "Asks the run to stop after the step in progress and to save a checkpoint, "
            "and waits until it has ended. With --now it ends at once, without one.",
        .example = "osora cancel 42",
        .positionals = {run_positional()},
        .options = {{.name = "--now", .value = "", .help = "Without a checkpoint."}, json_option()},
        .run = run};
}

}  // namespace osora::cli
