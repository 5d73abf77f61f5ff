// Hosts that failed recently are left out while enough others are there.
#include "daemon/backends/slurm/make_slurm_backend.hpp"

#include "base/env.hpp"
#include "base/host_list.hpp"
#include "base/host_name.hpp"
#include "base/process/capture.hpp"
#include "daemon/backends/slurm/slurm_backend.hpp"
#include "daemon/journal/journaled_status.hpp"
#include "protocol/node_memory_file.hpp"
#include "protocol/run_directory.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::daemon {
namespace {

std::string job_variable(Environment const& environment, std::string_view name,
                         std::string_view older) {
    return variable_or(environment, name, variable_or(environment, older, ""));
}

Result<slurm::PlacementOptions> placement_of(BackendSetup const& setup) {
    auto const& resources = setup.config.resources;
    slurm::PlacementOptions placement;
    placement.nodes = resources.nodes;
    std::string const list =
        job_variable(setup.environment, "SLURM_JOB_NODELIST", "SLURM_NODELIST");
    OSORA_TRY(placement.hosts, expand_host_list(list));
    placement.excluded = setup.config.faults.exclude_nodes;
    auto const is_out = [&placement](std::string const& host) {
        return names_host(placement.excluded, host);
    };
    auto const usable = static_cast<int>(placement.hosts.size()) -
                        static_cast<int>(std::ranges::count_if(placement.hosts, is_out));
    if (usable < resources.nodes) {
        return Error{Errc::invalid_input,
                     fmt::format("the job has {} usable nodes ({}); the run needs {}", usable, list,
                                 resources.nodes)};
    }
    int spare = usable - resources.nodes;
    RealEnv const clock;
    auto const state = protocol::RunPaths{setup.start.run_dir}.state();
    for (std::string const& host : protocol::remembered_bad_hosts(state, clock.wall_us())) {
        bool const here = names_host(placement.hosts, host) && !is_out(host);
        if (!here || spare-- <= 0) continue;
        placement.excluded.push_back(host);
    }
    OSORA_TRY(auto const status, read_run_status(setup.start.run_dir));
    for (auto const& node : status.nodes) placement.last.push_back(node.host);
    return placement;
}

}  // namespace

Result<std::unique_ptr<Backend>> make_slurm_backend(BackendSetup setup, TaskGroup& tasks,
                                                    Logger& log, Backend::OnExited on_exited) {
    SlurmOptions options;
    options.job_id = job_variable(setup.environment, "SLURM_JOB_ID", "SLURM_JOBID");
    if (options.job_id.empty()) {
        return Error{Errc::invalid_input,
                     "backend slurm: this controller is not inside a job (SLURM_JOB_ID)"};
    }
    auto placement = placement_of(setup);
    if (placement.has_error()) return std::move(placement).error().in("job " + options.job_id);
    options.placement = std::move(*placement);
    std::string const path = variable_or(setup.environment, "PATH", "/usr/bin:/bin");
    OSORA_TRY(options.srun, find_in_path("srun", path));
    options.osorad = setup.osorad;
    options.container = setup.config.slurm.container;
    options.on_fault = fault_recorder(setup.start.run_dir, log);
    options.environment = std::move(setup.environment);
    options.start = std::move(setup.start);
    return std::make_unique<SlurmBackend>(std::move(options), tasks, log, std::move(on_exited));
}

}  // namespace osora::daemon
