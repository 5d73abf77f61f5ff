// One table of variables; the PATH search of execvp, done before the fork.
#include "daemon/agent/worker_setup.hpp"

#include "daemon/agent/stacks.hpp"
#include "plan/nccl/setting_nodes.hpp"
#include "protocol/run_directory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <utility>

namespace osora::daemon {
namespace {

namespace fs = std::filesystem;

bool is_exec(plan::WorkerJob const& job) {
    return job.config.run.job == "exec";
}

Result<fs::path> find_program(std::string const& name, Environment const& environment,
                              fs::path const& base) {
    if (name.find('/') != std::string::npos) return base / name;
    std::string const path = variable_or(environment, "PATH", "/usr/local/bin:/usr/bin:/bin");
    std::string_view rest(path);
    while (true) {
        std::string_view const folder = rest.substr(0, rest.find(':'));
        fs::path const candidate = base / (folder.empty() ? "." : folder) / name;
        std::error_code ignored;
        bool const usable =
            ::access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate, ignored);
        if (usable) return candidate;
        if (folder.size() == rest.size()) break;
        rest.remove_prefix(folder.size() + 1);
    }
    return Error{Errc::not_found,
                 fmt::format("[worker] command: '{}' is not in PATH ({})", name, path)};
}

void set_osora_variables(Environment& environment, plan::WorkerJob const& job,
                         WorkerPlace const& place) {
    protocol::LaunchWorkers const& launch = place.launch;
    std::array const variables{
        std::pair{"RANK", std::to_string(launch.first_rank + place.local_rank)},
        std::pair{"LOCAL_RANK", std::to_string(place.local_rank)},
        std::pair{"WORLD_SIZE", std::to_string(launch.world_size)},
        std::pair{"LOCAL_WORLD_SIZE", std::to_string(launch.local_world_size)},
        std::pair{"MASTER_ADDR", launch.store_host},
        std::pair{"MASTER_PORT", std::to_string(launch.store_port)},
        std::pair{"OSORA_ATTEMPT", std::to_string(launch.attempt)},
        std::pair{"OSORA_RUN_UUID", job.run_uuid},
        std::pair{"OSORA_RUN_DIR", job.run_dir},
    };
    for (auto const& [name, value] : variables) set_variable(environment, name, value);
    std::array const descriptors{std::pair{"OSORA_AGENT_FD", place.agent_fd},
                                 std::pair{"OSORA_STORE_FD", place.store_fd},
                                 std::pair{"OSORA_STEP_FD", place.step_fd}};
    for (auto const& [name, fd] : descriptors) {
        remove_variable(environment, name);
        if (fd >= 0) set_variable(environment, name, std::to_string(fd));
    }
}

/// NCCL's watchdog keeps the last collectives and writes them on request (daemon/agent/stacks).
void set_flight_recorder(Environment& environment, plan::WorkerJob const& job, int attempt) {
    auto const folder = stacks_folder(job.run_dir, attempt);
    std::array const variables{
        std::pair{"TORCH_FR_BUFFER_SIZE", std::string("2000")},
        std::pair{"TORCH_NCCL_DUMP_ON_TIMEOUT", std::string("1")},
        std::pair{"TORCH_NCCL_DEBUG_INFO_TEMP_FILE", (folder / kFlightFile).string()},
        std::pair{"TORCH_NCCL_DEBUG_INFO_PIPE_FILE", (folder / kFlightRequest).string()},
    };
    for (auto const& [name, value] : variables) {
        if (!has_variable(environment, name)) set_variable(environment, name, value);
    }
}

}  // namespace

Result<WorkerSetup> set_up_worker(plan::WorkerJob const& job, WorkerPlace const& place,
                                  fs::path const& worker_program, Environment inherited) {
    WorkerSetup setup{.program = worker_program,
                      .arguments = {},
                      .environment = std::move(inherited),
                      .working_directory = job.base_dir.empty() ? "/" : job.base_dir};
    for (plan::NcclSetting const& each : job.plan.nccl_env) {
        if (!plan::applies_to(each, place.host)) continue;
        set_variable(setup.environment, each.name, each.value);
    }
    for (auto const& [name, value] : job.config.worker.env) {
        set_variable(setup.environment, name, value);
    }
    int const threads = job.plan.chosen.threads_per_rank;
    if (!has_variable(setup.environment, "OMP_NUM_THREADS") && threads > 0) {
        set_variable(setup.environment, "OMP_NUM_THREADS", std::to_string(threads));
    }
    // Ranks that score have their own threads; OpenMP's (Tesseract's) would only take their cores.
    if (job.config.run.job == "score" && !has_variable(setup.environment, "OMP_THREAD_LIMIT")) {
        set_variable(setup.environment, "OMP_THREAD_LIMIT", "1");
    }
    set_flight_recorder(setup.environment, job, place.launch.attempt);
    set_osora_variables(setup.environment, job, place);
    OSORA_TRY_VOID(check_size(setup.environment));
    if (plan::is_link_probe(job)) {
        // A part of osorad: needs no LibTorch, and exists wherever the agent does.
        setup.program = "/proc/self/exe";
        setup.arguments = {"prober", job.run_dir};
        return setup;
    }
    if (!is_exec(job)) {
        setup.arguments = {"--job", protocol::RunPaths{job.run_dir}.job().string()};
        return setup;
    }
    auto const& command = job.config.worker.command;
    if (command.empty()) {
        return Error{Errc::invalid_input, "[worker] command is empty; job = \"exec\" needs one"};
    }
    OSORA_TRY(setup.program, find_program(command[0], setup.environment, setup.working_directory));
    setup.arguments.assign(command.begin() + 1, command.end());
    return setup;
}

}  // namespace osora::daemon
