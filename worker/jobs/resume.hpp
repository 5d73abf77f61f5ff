// Which checkpoint a run goes on from: the newest that reads back. Rank 0 chooses and says so in
// the store, so that all ranks load the same one.
#pragma once

#include "worker/jobs/agent_link.hpp"
#include "worker/jobs/rank_environment.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/train/trainer.hpp"

#include <cstdint>
#include <functional>
#include <optional>

namespace osora::worker {

struct ResumeContext {
    plan::WorkerJob const& job;
    RankEnvironment const& self;
    std::optional<Group> const& group;
    AgentLink& agent;  // told of checkpoints that do not read
    /// TrainData::hash of what a step is trained on.
    std::function<Result<std::uint64_t>(int step)> data_hash;
};

/// Restores `trainer` and returns the first step to do (0 without a checkpoint). invalid_input when
/// the checkpoint belongs to other data, buckets or another model: training on would silently
/// repeat or skip samples.
[[nodiscard]] Result<int> restore_latest(ResumeContext const& context, Trainer& trainer);

}  // namespace osora::worker
