// What the jobs of a worker share: joining the ranks, facts about the process, the meaning of a
// stop order.
#pragma once

#include "base/result.hpp"
#include "plan/worker_job.hpp"
#include "protocol/worker_messages.hpp"
#include "worker/jobs/rank_environment.hpp"
#include "worker/parallel/device.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/parallel/stop_vote.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace osora::worker {

/// The ranks of the run, with NCCL beside Gloo where they have GPUs; none for a single rank.
[[nodiscard]] Result<std::optional<Group>> join_ranks(RankEnvironment const& self,
                                                      Device const& device);

/// train.deterministic: kernels that give the same bits every time, before the device is used; an
/// operator that has none ends the step with an error that names it.
void use_deterministic_kernels();

/// Versions, threads and device, for WorkerHello.
[[nodiscard]] std::map<std::string, std::string> process_facts(Device const& device);

/// Beside the program: bin/osora-worker and lib/libosora_cuda.so.
[[nodiscard]] std::filesystem::path cuda_module_path();

/// Of this process.
[[nodiscard]] std::int64_t resident_bytes();

[[nodiscard]] Vote vote_of(std::optional<protocol::StopWorker> const& order);

}  // namespace osora::worker
