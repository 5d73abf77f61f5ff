// osorad: wiring. Reads the environment and the command line once, hands everything on.
#include "base/log_sinks.hpp"
#include "base/version.hpp"
#include "daemon/agent.hpp"
#include "daemon/history_ingest.hpp"
#include "daemon/one_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>

namespace osora::daemon {
namespace {

namespace fs = std::filesystem;

constexpr int kExitUsage = 2, kExitUnreachable = 4, kExitInternal = 5;
constexpr char const* kHelp =
    "The controller of a run, and the agent of a node. Started by osora; by hand:\n"
    "  osorad --one-run ~/.local/state/osora/runs/demo-0001";

fs::path own_path() {
    std::error_code error;
    return fs::read_symlink("/proc/self/exe", error);
}

/// OSORA_WORKER, else osora-worker beside this program.
fs::path worker_program(Environment const& environment) {
    std::string const chosen = variable_or(environment, "OSORA_WORKER", "");
    return chosen.empty() ? own_path().parent_path() / "osora-worker" : fs::absolute(chosen);
}

int one_run(fs::path const& run_dir, int leash_fd, bool resume) {
    Environment const environment = current_environment();
    std::error_code error;
    protocol::RunPaths const paths{fs::canonical(run_dir, error)};
    if (error || !fs::is_directory(paths.dir)) {
        fmt::print(stderr, "osorad: {}: no run directory\n", run_dir.string());
        return kExitUsage;
    }
    std::vector<std::unique_ptr<LogSink>> sinks;
    sinks.push_back(make_stderr_sink(LogFormat::logfmt, LogLevel::warning));
    auto file = make_file_sink(paths.controller_log(), LogFormat::logfmt);
    if (file.has_value()) sinks.push_back(std::move(*file));
    TeeSink sink(std::move(sinks));
    RealEnv env;
    Logger log(sink, env);
    if (leash_fd >= 0 && ::fcntl(leash_fd, F_SETFD, FD_CLOEXEC) != 0) {
        fmt::print(stderr, "osorad: --leash-fd {}: no such descriptor is open\n", leash_fd);
        return kExitUsage;
    }
    OneRunOptions options{.paths = paths,
                          .leash_fd = leash_fd,
                          .resume = resume,
                          .osorad = own_path(),
                          .worker_program = worker_program(environment),
                          .environment = environment,
                          .ingest = ingest_into_history};
    auto const exit_code = run_one(std::move(options), env, log);
    if (exit_code.has_value()) return *exit_code;
    log.error("run not taken up", {{"why", exit_code.error().message}});
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
        log.error("agent not started", {{"why", start.error().message}});
        return kExitUsage;
    }
    Environment const environment = current_environment();
    fs::path const worker =
        start->worker.empty() ? worker_program(environment) : fs::path(start->worker);
    AgentSetup setup{
        .start = std::move(*start), .worker_program = worker, .environment = environment};
    return run_agent(std::move(setup), env, log);
}

int run(int argc, char** argv) {
    CLI::App app(kHelp, "osorad");
    fs::path run_dir;
    int leash_fd = -1;
    bool resume = false;
    app.add_option("--one-run", run_dir, "Control the run in this directory, then exit");
    app.add_option("--leash-fd", leash_fd,
                   "Descriptor of a pipe; its end is a request to stop (attached runs)");
    app.add_flag("--resume", resume, "Open the run again when it has ended, but not well");
    app.set_version_flag("--version", fmt::format("osorad {} ({})", kVersion, kGitCommit));
    auto* const agent_command =
        app.add_subcommand("agent", "Run this node's workers; instructions come on stdin");
    CLI11_PARSE(app, argc, argv);
    if (agent_command->parsed()) return agent();
    if (!run_dir.empty()) return one_run(run_dir, leash_fd, resume);
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
        return osora::daemon::kExitInternal;
    }
}
