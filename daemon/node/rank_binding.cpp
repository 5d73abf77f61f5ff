#include "daemon/node/rank_binding.hpp"

#include "topology/cpu_list.hpp"
#include "topology/live/read_cores.hpp"

#include <algorithm>
#include <utility>

namespace osora::daemon {
namespace {

std::vector<topology::GpuPlace> seen_by_workers(std::vector<topology::GpuPlace> const& gpus,
                                                Environment const& environment) {
    for (char const* name : {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES"}) {
        if (has_variable(environment, name)) {
            return topology::visible_gpus(gpus, variable_or(environment, name, ""));
        }
    }
    return gpus;
}

}  // namespace

NodeCores read_node_cores(std::filesystem::path const& root) {
    return {topology::read_cores(topology::usable_cpus(0)), topology::read_gpu_places(root)};
}

topology::CoreBinding bind_workers(NodeCores const& node, plan::WorkerJob const& job,
                                   Environment const& environment, int ranks) {
    topology::BindingRequest request;
    request.ranks = ranks;
    request.cpus_per_rank = job.config.resources.cpus_per_worker;
    Environment theirs = environment;
    for (auto const& [name, value] : job.config.worker.env) set_variable(theirs, name, value);
    auto gpus = seen_by_workers(node.gpus, theirs);
    auto const count = static_cast<std::size_t>(ranks);
    // Fewer GPUs than ranks: CPU ranks. More: a user program may use several per rank.
    bool const exec = job.config.run.job == "exec";
    bool const one_each = gpus.size() == count || (gpus.size() > count && !exec);
    for (std::size_t rank = 0; one_each && rank < count; ++rank) {
        request.near.push_back(std::move(gpus[rank].near_cpus));
    }
    bool const near_gpus =
        std::ranges::any_of(request.near, [](auto const& cpus) { return !cpus.empty(); });
    // CPU ranks gain little from dedicated cores, and lose much where other processes use them.
    if (!near_gpus && job.config.resources.bind_cpus == "auto") return {};
    return topology::bind_ranks(node.cores, request);
}

std::string cpus_of_process(int pid) {
    return topology::format_cpu_list(topology::usable_cpus(pid));
}

}  // namespace osora::daemon
