// osora-worker-mock: what osora-worker is to its agent, without LibTorch and with faults on demand
// (script.hpp). Starts in milliseconds. For tests and demonstrations of faults.
#include "base/files/files.hpp"
#include "base/process/parent_signal.hpp"
#include "base/process/stack_signal.hpp"
#include "protocol/exit_codes.hpp"
#include "protocol/json.hpp"
#include "worker/mock/trainer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace osora::mock {
namespace {

using protocol::kExitComm;
using protocol::kExitConfiguration;

int integer_or(Environment const& environment, std::string_view name, int otherwise) {
    std::string const text = variable_or(environment, name, "");
    return text.empty() ? otherwise : std::atoi(text.c_str());
}

/// A process that outlives its parent unless something looks for it.
void leave_child() {
    if (::fork() != 0) return;
    ::setsid();
    std::signal(SIGTERM, SIG_IGN);
    for (int fd = 3; fd < 64; ++fd) ::close(fd);
    while (true) ::pause();
}

Result<plan::WorkerJob> read_job(std::filesystem::path const& path) {
    OSORA_TRY(auto text, read_file(path));
    auto job = protocol::decode<plan::WorkerJob>(text);
    if (job.has_error()) return std::move(job).error().in(path.string());
    return job;
}

int fail(protocol::AgentLink& agent, int exit_code, std::string const& message) {
    std::fprintf(stderr, "osora-worker-mock: %s\n", message.c_str());
    (void)agent.send(protocol::WorkerFailed{.exit_code = exit_code, .message = message});
    return exit_code;
}

int run(std::filesystem::path const& job_file, Environment const& environment) {
    protocol::AgentLink agent(integer_or(environment, "OSORA_AGENT_FD", -1));
    auto job = read_job(job_file);
    if (job.has_error()) return fail(agent, kExitConfiguration, job.error().message);
    auto const script = read_script(environment);
    if (script.has_error()) return fail(agent, kExitConfiguration, script.error().message);
    Place const place{.rank = integer_or(environment, "RANK", 0),
                      .local_rank = integer_or(environment, "LOCAL_RANK", 0),
                      .world_size = integer_or(environment, "WORLD_SIZE", 1),
                      .attempt = integer_or(environment, "OSORA_ATTEMPT", 0)};
    // The agent knows the name, too (daemon/agent/stacks.hpp).
    write_stacks_to(std::filesystem::path(job->run_dir) / "stacks" / std::to_string(place.attempt) /
                    fmt::format("{}.own", place.rank));
    only_parent_terminates();
    if (script->ignore_term) std::signal(SIGTERM, SIG_IGN);
    if (script->leave_child) leave_child();
    auto peers = Peers::meet({.rank = place.rank,
                              .world_size = place.world_size,
                              .store_host = variable_or(environment, "MASTER_ADDR", "127.0.0.1"),
                              .store_port = integer_or(environment, "MASTER_PORT", 0),
                              .store_fd = integer_or(environment, "OSORA_STORE_FD", -1)});
    if (peers.has_error()) return fail(agent, kExitComm, peers.error().message);
    Trainer trainer(std::move(*job), place, *script, agent, std::move(*peers));
    auto const exit_code = trainer.run();
    if (exit_code.has_error()) return fail(agent, kExitComm, exit_code.error().message);
    return *exit_code;
}

}  // namespace
}  // namespace osora::mock

int main(int argc, char** argv) {
    if (argc != 3 || std::string_view(argv[1]) != "--job") {
        std::fputs("usage: osora-worker-mock --job RUN_DIR/job.json\n", stderr);
        return 2;
    }
    try {
        return osora::mock::run(argv[2], osora::current_environment());
    } catch (std::exception const& failure) {
        std::fprintf(stderr, "osora-worker-mock: %s\n", failure.what());
        return osora::protocol::kExitCheckFailed;
    }
}
