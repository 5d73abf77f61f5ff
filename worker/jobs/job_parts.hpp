// Code shared by the jobs of a worker: joining the ranks, facts about the process, the meaning of a
// stop order.
#pragma once

#include "base/result.hpp"
#include "plan/worker_job.hpp"
#include "protocol/messages/worker_messages.hpp"
#include "worker/jobs/rank_environment.hpp"
#include "worker/parallel/device.hpp"
#include "worker/parallel/rank_groups.hpp"
#include "worker/parallel/stop_vote.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace osora::worker {

/// How ranks wait for each other.
struct Waiting {
    double timeout_s = 600;  // of joining and of each collective: faults.collective_timeout
    std::shared_ptr<FlightRecorder> flight = nullptr;  // recorder of collectives; null: none
};
/// As in the run file, without a recorder.
[[nodiscard]] Waiting waiting_of(plan::WorkerJob const& job);
/// The ranks of the run, with NCCL beside Gloo if they have GPUs; none for a single rank.
[[nodiscard]] Result<std::optional<Group>> join_ranks(RankEnvironment const& self,
                                                      Device const& device, Waiting waiting);

/// Ranks of a run and how they share its work: ranks that share layers or tokens train on the same
/// samples.
struct TrainRanks : RankGroups {
    int dp_rank = 0, dp_size = 1;  // index of the sample stream that this rank trains on
    bool leads = true;  // the first of those that share samples: it counts them (in the last stage)
};
/// Errors: invalid_input if the plan is for another number of ranks; those of join_ranks().
[[nodiscard]] Result<TrainRanks> join_train_ranks(RankEnvironment const& self, Device const& device,
                                                  plan::LayoutPlan const& layout, Waiting waiting);

/// train.deterministic: uses kernels that give the same bits every time; call it before the device
/// is used. An operator without one ends the step with an error that names it.
void use_deterministic_kernels();

/// debug.attention: products that keep all scores of queries and keys, (groups, heads, tokens,
/// keys), as Open-Sora does with enable_flash_attn = False. The ring of sp_size is not affected.
void use_unfused_attention();

/// The networks of this process use the device's fused kernels, if it has some (docs/rfc/034).
void use_kernels_of(Device const& device);

/// Versions, threads and device, for WorkerHello.
[[nodiscard]] std::map<std::string, std::string> process_facts(Device const& device);

/// Relative to the program: bin/osora-worker and lib/libosora_cuda.so.
[[nodiscard]] std::filesystem::path cuda_module_path();

/// Of this process.
[[nodiscard]] std::int64_t resident_bytes();

[[nodiscard]] Vote vote_of(std::optional<protocol::StopWorker> const& order);

}  // namespace osora::worker
