// osora daemon start, status, stop: the daemon of this user's state folder.
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/command/state_folder.hpp"
#include "cli/run/daemon_client.hpp"
#include "cli/run/launch.hpp"

#include "base/files/files.hpp"
#include "base/process/process.hpp"
#include "base/text/units.hpp"
#include "protocol/state_paths.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

namespace osora::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kDaemonStartLimit = std::chrono::seconds(10);
constexpr auto kStopLimit = std::chrono::seconds(10);

protocol::json::object to_object(protocol::DaemonReply const& reply) {
    protocol::json::array runs;
    for (auto const& each : reply.runs) runs.push_back(protocol::to_json(each));
    return {{"running", true},
            {"pid", reply.pid},
            {"version", reply.version},
            {"up_s", reply.up_s},
            {"runs", std::move(runs)}};
}

int report(protocol::DaemonReply const& reply, bool json) {
    if (json) {
        print_json("daemon", to_object(reply));
        return kExitOk;
    }
    cli::print("daemon {} · pid {} · up {} · {} run{}\n", reply.version, reply.pid,
               format_seconds(reply.up_s), reply.runs.size(), reply.runs.size() == 1 ? "" : "s");
    for (auto const& each : reply.runs) {
        cli::print("  {:24} controller {}{}\n", fs::path(each.run_dir).filename().string(),
                   each.controller_pid == 0 ? "starts" : fmt::format("{}", each.controller_pid),
                   each.restarts == 0   ? ""
                   : each.restarts == 1 ? ", restarted once"
                                        : fmt::format(", restarted {} times", each.restarts));
    }
    return kExitOk;
}

Result<Child> spawn_daemon(Context const& context, fs::path const& state, fs::path const& log) {
    OSORA_TRY(auto const program, controller_program(context));
    OSORA_TRY(auto const output, open_private(log, O_WRONLY | O_APPEND));
    SpawnOptions spawning;
    spawning.program = program;
    spawning.arguments = {"serve", "--state-dir", state.string()};
    spawning.environment = context.environment;
    spawning.working_directory = "/";
    spawning.descriptors = {{output.get(), STDOUT_FILENO}, {output.get(), STDERR_FILENO}};
    spawning.death_signal = 0;
    spawning.new_session = true;
    return spawn(spawning);
}

int start(Context const& context, Arguments const& arguments) {
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error());
    if (auto const there = ask_daemon(*state, protocol::DaemonStatus()); there.has_value()) {
        return report(*there, arguments.has("--json"));
    }
    if (auto const own = own_state(context, *state); own.has_error()) return fail(own.error());
    fs::path const log = protocol::StatePaths{*state}.daemon_log();
    auto const child = spawn_daemon(context, *state, log);
    if (child.has_error()) return fail(kExitBad, child.error());
    auto const deadline = Clock::now() + kDaemonStartLimit;
    while (Clock::now() < deadline) {
        auto const reply = ask_daemon(*state, protocol::DaemonStatus());
        if (reply.has_value()) return report(*reply, arguments.has("--json"));
        pollfd ended{child->pidfd.get(), POLLIN, 0};
        if (::poll(&ended, 1, 20) == 1) break;
    }
    return fail(kExitBad, fmt::format("the daemon did not start; {} says why", log.string()));
}

int status(Context const& context, Arguments const& arguments) {
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error());
    bool const json = arguments.has("--json");
    auto const reply = ask_daemon(*state, protocol::DaemonStatus());
    if (reply.has_value()) return report(*reply, json);
    if (reply.error().code != Errc::unreachable) {
        return fail(reply.error());
    }
    if (json) {
        print_json("daemon", {{"running", false}});
    } else {
        cli::print("no daemon runs; runs have a controller each (osora daemon start)\n");
    }
    return kExitUnreachable;
}

int stop(Context const& context, Arguments const& arguments) {
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error());
    auto const reply = ask_daemon(*state, protocol::StopDaemon());
    if (reply.has_error()) {
        bool const none = reply.error().code == Errc::unreachable;
        return fail(Error{reply.error().code, none ? "no daemon runs" : reply.error().message});
    }
    auto const deadline = Clock::now() + kStopLimit;
    while (has_daemon(*state)) {
        if (Clock::now() >= deadline) {
            return fail(kExitUnreachable, fmt::format("daemon {} does not stop", reply->pid));
        }
        ::poll(nullptr, 0, 20);
    }
    if (arguments.has("--json")) {
        auto object = to_object(*reply);
        object["running"] = false;
        print_json("daemon", object);
    } else if (reply->runs.empty()) {
        cli::print("daemon stopped\n");
    } else {
        cli::print("daemon stopped; {} run{} without it\n", reply->runs.size(),
                   reply->runs.size() == 1 ? " continues" : "s continue");
    }
    return kExitOk;
}

}  // namespace

CommandSpec daemon_start_command() {
    return {.name = "daemon start",
            .summary = "start the daemon: runs survive their controller",
            .details =
                "Starts osorad serve for your state folder, as you, without root. While it runs, "
                "osora submit and osora resume give it their runs on this machine and over ssh: "
                "they continue when the terminal is closed (Ctrl-C detaches), and a controller "
                "that dies is restarted and adopts its running ranks. Does nothing when it runs "
                "already. Under systemd: etc/systemd/osorad.service.",
            .example = "osora daemon start",
            .positionals = {},
            .options = {json_option("Print one JSON object.")},
            .run = start};
}

CommandSpec daemon_status_command() {
    return {.name = "daemon status",
            .summary = "whether the daemon runs, and its runs",
            .details = "The exit code is 0 when it runs, 4 when it does not.",
            .example = "osora daemon status",
            .positionals = {},
            .options = {json_option("Print one JSON object.")},
            .run = status};
}

CommandSpec daemon_stop_command() {
    return {.name = "daemon stop",
            .summary = "stop the daemon; its runs continue",
            .details = "Its runs keep their controllers; the next daemon adopts them.",
            .example = "osora daemon stop",
            .positionals = {},
            .options = {json_option("Print one JSON object.")},
            .run = stop};
}

}  // namespace osora::cli
