// osorad: wiring. Reads the environment and the command line once and passes everything on.
#include "base/log/log_sinks.hpp"
#include "base/text/printable.hpp"
#include "base/version.hpp"
#include "daemon/agent/agent.hpp"
#include "daemon/agent/agent_announcement.hpp"
#include "daemon/backends/slurm/commands.hpp"
#include "daemon/controller/one_run.hpp"
#include "daemon/journal/history_ingest.hpp"
#include "daemon/node/node_profile.hpp"
#include "daemon/notify/post.hpp"
#include "daemon/notify/series_verdict.hpp"
#include "daemon/prober/prober.hpp"
#include "daemon/service/serve.hpp"
#include "protocol/exit_codes.hpp"
#include "protocol/json.hpp"
#include "topology/live/node_facts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>

namespace osora::daemon {
namespace {

namespace fs = std::filesystem;

constexpr char const* kHelp =
    "The controller of a run, the agent of a node, and the daemon. Started by osora; by hand:\n"
    "  osorad --one-run ~/.local/state/osora/runs/demo-0001\n"
    "  osorad serve --state-dir ~/.local/state/osora";

fs::path own_path() {
    std::error_code error;
    return fs::read_symlink("/proc/self/exe", error);
}

/// OSORA_WORKER, else osora-worker beside this program.
fs::path worker_program(Environment const& environment) {
    std::string const chosen = variable_or(environment, "OSORA_WORKER", "");
    return chosen.empty() ? own_path().parent_path() / "osora-worker" : fs::absolute(chosen);
}

int one_run(OneRunOptions options) {
    std::error_code error;
    protocol::RunPaths const paths{fs::canonical(options.paths.dir, error)};
    if (error || !fs::is_directory(paths.dir)) {
        fmt::print(stderr, "osorad: {}: no run directory\n", printable(options.paths.dir.string()));
        return kExitUsage;
    }
    options.paths = paths;
    options.environment = current_environment();
    options.osorad = own_path();
    options.worker_program = worker_program(options.environment);
    options.ingest = ingest_into_history;
    options.ask_series = slower_than_series;
    int const lifeline_fd = options.lifeline_fd;
    std::vector<std::unique_ptr<LogSink>> sinks;
    sinks.push_back(make_stderr_sink(LogFormat::logfmt, LogLevel::warning));
    auto file = make_file_sink(paths.controller_log(), LogFormat::logfmt);
    if (file.has_value()) sinks.push_back(std::move(*file));
    TeeSink sink(std::move(sinks));
    RealEnv env;
    Logger log(sink, env);
    if (lifeline_fd >= 0 && ::fcntl(lifeline_fd, F_SETFD, FD_CLOEXEC) != 0) {
        fmt::print(stderr, "osorad: --lifeline-fd {}: no such descriptor is open\n", lifeline_fd);
        return kExitUsage;
    }
    auto const exit_code = run_one(std::move(options), env, log);
    if (exit_code.has_value()) return *exit_code;
    log.error("cannot load run", {{"why", exit_code.error().message}});
    bool const input =
        exit_code.error().code == Errc::invalid_input || exit_code.error().code == Errc::not_found;
    if (exit_code.error().code == Errc::busy) return kExitUnreachable;
    return input ? kExitUsage : 1;
}

int agent() {
    auto const sink = make_stderr_sink(LogFormat::logfmt, LogLevel::debug);
    RealEnv env;
    Logger log(*sink, env);
    auto start = read_agent_start(STDIN_FILENO);
    if (start.has_error()) {
        log.error("cannot start agent", {{"why", start.error().message}});
        return kExitUsage;
    }
    Environment environment = current_environment();
    if (auto const placed = resolve_node(*start, environment); placed.has_error()) {
        log.error("cannot start agent", {{"why", placed.error().message}});
        return kExitUsage;
    }
    if (auto const taken = announce_agent(*start); taken.has_error()) {
        log.error("cannot start agent", {{"why", taken.error().message}});
        return kExitUsage;
    }
    fs::path const worker =
        start->worker.empty() ? worker_program(environment) : fs::path(start->worker);
    AgentSetup setup{.start = std::move(*start),
                     .worker_program = worker,
                     .environment = environment,
                     .profile_folder = variable_or(environment, "OSORA_PROFILE_DIR",
                                                   default_profile_folder(::geteuid()).string())};
    return run_agent(std::move(setup), env, log);
}

int serve(fs::path const& state_dir) {
    Environment environment = current_environment();
    ServeOptions options;
    options.state_dir = state_dir;
    options.osorad = own_path();
    options.runtime_dir = variable_or(environment, "XDG_RUNTIME_DIR", "");
    options.notify_socket = variable_or(environment, "NOTIFY_SOCKET", "");
    options.version = kVersion;
    remove_variable(environment, "NOTIFY_SOCKET");
    options.environment = std::move(environment);
    auto const sink = make_stderr_sink(LogFormat::logfmt, LogLevel::info);
    RealEnv env;
    Logger log(*sink, env);
    auto const exit_code = run_daemon(std::move(options), env, log);
    if (exit_code.has_value()) return *exit_code;
    log.error("cannot start daemon", {{"why", exit_code.error().message}});
    if (exit_code.error().code == Errc::invalid_input) return kExitUsage;
    return exit_code.error().code == Errc::busy ? kExitUnreachable : 1;
}

int facts() {
    fmt::print("{}\n", protocol::encode(topology::make_node_facts()->read()));
    return 0;
}

int run(int argc, char** argv) {
    CLI::App app(kHelp, "osorad");
    OneRunOptions one;
    fs::path& run_dir = one.paths.dir;
    app.add_option("--one-run", run_dir, "Control the run in this directory, then exit");
    app.add_option("--lifeline-fd", one.lifeline_fd,
                   "Descriptor of a pipe; its end is a request to stop (attached runs)");
    app.add_option("--lifeline-limit", one.lifeline_limit_s,
                   "Seconds that a graceful stop may take then; after that ranks are killed");
    app.add_flag("--resume", one.resume, "Reopen a run that ended without success");
    app.add_flag("--supervised", one.supervised,
                 "This is restarted when it dies, so agents wait for it");
    app.add_flag("--agents-anywhere", one.open_to_others,
                 "Accept agents from other machines (TLS), whatever the backend");
    app.set_version_flag("--version", fmt::format("osorad {} ({})", kVersion, kGitCommit));
    auto* const agent_command =
        app.add_subcommand("agent", "Run this node's workers; instructions come on stdin");
    auto* const serve_command = app.add_subcommand(
        "serve", "The daemon: keeps a controller alive for each run of a state folder");
    auto* const facts_command = app.add_subcommand(
        "facts", "Print this machine's hardware as JSON, with what its drivers report");
    fs::path state_dir;
    serve_command->add_option("--state-dir", state_dir, "As osora's OSORA_STATE_DIR")->required();
    auto* const prober_command =
        app.add_subcommand("prober", "A rank of a run with job = \"probe\"");
    fs::path probe_dir;
    prober_command->add_option("RUN_DIR", probe_dir)->required();
    auto* const post_command =
        app.add_subcommand("post", "Send one JSON text to a webhook; the request comes on stdin");
    SlurmCommands slurm(app);
    CLI11_PARSE(app, argc, argv);
    if (agent_command->parsed()) return agent();
    if (prober_command->parsed()) return run_prober(probe_dir, current_environment());
    if (serve_command->parsed()) return serve(state_dir);
    if (facts_command->parsed()) return facts();
    if (post_command->parsed()) return post_from(STDIN_FILENO);
    if (auto const exit_code = slurm.run(own_path())) return *exit_code;
    if (!run_dir.empty()) return one_run(std::move(one));
    fmt::print(stderr, "osorad: nothing to do: give --one-run RUN_DIR, or see --help\n");
    return kExitUsage;
}

}  // namespace
}  // namespace osora::daemon

int main(int argc, char** argv) {
    try {
        return osora::daemon::run(argc, argv);
    } catch (std::exception const& failure) {
        std::fprintf(stderr, "osorad: %s\n", failure.what());
        return osora::kExitInternal;
    }
}
