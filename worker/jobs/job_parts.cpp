// The address that peers reach a rank by is the one that its route to rank 0 starts from.
#include "worker/jobs/job_parts.hpp"

#include "base/environment.hpp"
#include "base/version.hpp"
#include "topology/assignment.hpp"
#include "worker/cuda/cuda_module.hpp"
#include "worker/model/fused/fused_ops.hpp"
#include "worker/parallel/own_address.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/version.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <utility>

namespace osora::worker {
Waiting waiting_of(plan::WorkerJob const& job) {
    return {.timeout_s = job.config.faults.collective_timeout};
}

Result<std::optional<Group>> join_ranks(RankEnvironment const& self, Device const& device,
                                        Waiting waiting) {
    if (self.world_size == 1) return std::optional<Group>();
    GroupConfig config;
    config.rank = self.rank;
    config.world_size = self.world_size;
    config.store_host = self.master_addr;
    config.store_port = self.master_port;
    config.listen_fd = self.store_fd;
    config.my_interface = self.interface;
    OSORA_TRY(config.my_address, address_towards(self.master_addr));
    config.timeout_s = waiting.timeout_s;
    config.flight = std::move(waiting.flight);
    OSORA_TRY(auto group, join_gloo_group(config));
    if (device.is_gpu()) OSORA_TRY_VOID(group.use_nccl(device));
    return std::optional<Group>(std::move(group));
}

Result<TrainRanks> join_train_ranks(RankEnvironment const& self, Device const& device,
                                    plan::LayoutPlan const& layout, Waiting waiting) {
    int const together = layout.tp_size * layout.sp_size;  // in a stage, on the same samples
    int const of_stage = layout.dp_size * together, ranks_planned = of_stage * layout.pp_size;
    if (ranks_planned != self.world_size) {
        return Error{Errc::invalid_input, fmt::format("the plan is for {} ranks, WORLD_SIZE is {}",
                                                      ranks_planned, self.world_size)};
    }
    TrainRanks ranks;
    int const here = self.rank % of_stage;
    ranks.dp_size = layout.dp_size;
    ranks.dp_rank = here / together;
    ranks.leads = here % together == 0 && self.rank / of_stage + 1 == layout.pp_size;
    auto all = join_ranks(self, device, std::move(waiting));
    if (all.has_error()) return all.error();
    OSORA_TRY(static_cast<RankGroups&>(ranks),
              split_ranks(std::move(*all),
                          {.tp_size = layout.tp_size,
                           .sp_size = layout.sp_size,
                           .pp_size = layout.pp_size,
                           .virtual_stages = layout.virtual_stages,
                           .eager = layout.pp_schedule == plan::kEager1f1b,
                           .shard_size = layout.shard_size,
                           .attention = layout.sp_kind == "ring" ? AttentionForm::ring
                                                                 : AttentionForm::exchange}));
    return ranks;
}

void use_deterministic_kernels() {
    ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);  // cuBLAS asks for it
    auto& settings = at::globalContext();
    settings.setDeterministicAlgorithms(true, /*warn_only=*/false);
    settings.setDeterministicFillUninitializedMemory(false);  // no kernel here reads such memory
    settings.setDeterministicCuDNN(true);
    settings.setBenchmarkCuDNN(false);
}

void use_unfused_attention() {
    auto& settings = at::globalContext();
    settings.setSDPUseFlash(false);
    settings.setSDPUseMemEfficient(false);
    settings.setSDPUseCuDNN(false);
}

void use_kernels_of(Device const& device) {
    if (device.is_gpu()) use_fused_kernels(device.module()->fused_kernels);
}

std::map<std::string, std::string> process_facts(Device const& device) {
    auto facts = topology::communication_variables(current_environment());
    facts.merge(
        std::map<std::string, std::string>{{"osora", kVersion},
                                           {"commit", kGitCommit},
                                           {"torch", TORCH_VERSION},
                                           {"threads", std::to_string(at::get_num_threads())},
                                           {"device", device.description()}});
    return facts;
}

std::filesystem::path cuda_module_path() {
    std::error_code error;
    auto const program = std::filesystem::read_symlink("/proc/self/exe", error);
    return program.parent_path().parent_path() / "lib" / "libosora_cuda.so";
}

std::int64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::int64_t total_pages = 0, resident_pages = 0;
    file >> total_pages >> resident_pages;
    return resident_pages * ::sysconf(_SC_PAGESIZE);
}

Vote vote_of(std::optional<protocol::StopWorker> const& order) {
    if (!order) return Vote::go_on;
    return order->save_checkpoint ? Vote::stop_with_checkpoint : Vote::stop_without_checkpoint;
}

}  // namespace osora::worker
