#include "worker/jobs/train_job.hpp"

#include "base/environment.hpp"
#include "base/version.hpp"
#include "topology/assignment.hpp"
#include "worker/jobs/resume.hpp"
#include "worker/jobs/train_data.hpp"
#include "worker/jobs/train_loop.hpp"
#include "worker/parallel/own_address.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/version.h>
#include <unistd.h>

#include <filesystem>

namespace osora::worker {
namespace {

constexpr double kGroupTimeout_s = 600;  // the controller notices a hang long before

Result<void> check_supported(plan::RunConfig const& config, RankEnvironment const& self,
                             plan::LayoutPlan const& layout) {
    if (layout.dp_size != self.world_size) {
        return Error{Errc::invalid_input, fmt::format("the plan is for {} ranks, WORLD_SIZE is {}",
                                                      layout.dp_size, self.world_size)};
    }
    if (config.optim.grad_clip.is_auto()) {
        return Error{Errc::invalid_input, "optim.grad_clip: a number is needed"};
    }
    return {};
}

Result<std::optional<Group>> join(RankEnvironment const& self, Device const& device) {
    if (self.world_size == 1) return std::optional<Group>();
    GroupConfig config;
    config.rank = self.rank;
    config.world_size = self.world_size;
    config.store_host = self.master_addr;
    config.store_port = self.master_port;
    config.listen_fd = self.store_fd;
    config.my_interface = self.interface;
    OSORA_TRY(config.my_address, address_towards(self.master_addr));
    config.timeout_s = kGroupTimeout_s;
    OSORA_TRY(auto group, join_gloo_group(config));
    if (device.is_gpu()) OSORA_TRY_VOID(group.use_nccl(device));
    return std::optional<Group>(std::move(group));
}

void report_data(TrainData const& data, plan::WorkerJob const& job, AgentLink& agent) {
    for (SkippedRow const& row : data.manifest.skipped) {
        agent.send(
            protocol::WorkerNotice{.kind = "clip_skipped",
                                   .severity = "warning",
                                   .step = 0,
                                   .detail = fmt::format("{}:{}: {}: {}", job.config.data.manifest,
                                                         row.line, row.path, row.reason)});
    }
    for (std::string const& line : describe_unused(data, job)) {
        agent.send(protocol::WorkerNotice{
            .kind = "data_unused", .severity = "warning", .step = 0, .detail = line});
    }
}

/// With the variables of collectives as they are now: NCCL has set those of its own files by then.
std::map<std::string, std::string> facts(Stdit3 const& model, Device const& device) {
    auto found = topology::communication_variables(current_environment());
    found.merge(std::map<std::string, std::string>{
        {"osora", kVersion},
        {"commit", kGitCommit},
        {"torch", TORCH_VERSION},
        {"threads", std::to_string(at::get_num_threads())},
        {"device", device.description()},
        {"parameters", std::to_string(model.parameters().trainable_count())}});
    return found;
}

/// Beside the program: bin/osora-worker and lib/libosora_cuda.so.
std::filesystem::path cuda_module() {
    std::error_code error;
    auto const program = std::filesystem::read_symlink("/proc/self/exe", error);
    return program.parent_path().parent_path() / "lib" / "libosora_cuda.so";
}

}  // namespace

Result<TrainOutcome> run_train_job(plan::WorkerJob const& job, RankEnvironment const& self,
                                   AgentLink& agent) {
    using protocol::Phase;
    OSORA_TRY_VOID(check_supported(job.config, self, job.plan.chosen));
    at::set_num_threads(std::max(1, job.plan.chosen.threads_per_rank));
    agent.send(protocol::PhaseChanged{.phase = Phase::loading, .limit_s = 0});
    OSORA_TRY(Device const device, Device::choose(cuda_module(), self.local_rank));
    OSORA_TRY(auto const group, join(self, device));
    OSORA_TRY(auto trainer, Trainer::make(job, group, device));
    OSORA_TRY(auto const data, open_train_data(job));
    if (self.rank == 0) report_data(*data, job, agent);
    ResumeContext const context{job, self, *data, group, agent};
    OSORA_TRY(int const start_step, restore_latest(context, trainer));
    agent.send(protocol::WorkerHello{.rank = self.rank,
                                     .pid = static_cast<int>(::getpid()),
                                     .start_step = start_step,
                                     .facts = facts(trainer.model(), device)});
    if (start_step >= job.config.train.steps) return TrainOutcome{start_step, false};
    OSORA_TRY(auto const loader,
              start_loader(*data, job, self.rank, static_cast<std::uint64_t>(start_step)));
    StopVote vote(group);
    TrainLoop loop({job, self, *data, agent, trainer, *loader, vote, device});
    return loop.run(start_step);
}

}  // namespace osora::worker
