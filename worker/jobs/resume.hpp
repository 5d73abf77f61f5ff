// Chooses the checkpoint that a run continues from: the newest that can be read. Rank 0 chooses and
// announces it in the store, so that all ranks load the same one.
#pragma once

#include "worker/jobs/agent_link.hpp"
#include "worker/jobs/rank_environment.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/train/trainer.hpp"

#include <functional>
#include <optional>

namespace osora::worker {

struct TrainData;

struct ResumeContext {
    plan::WorkerJob const& job;
    RankEnvironment const& self;
    std::optional<Group> const& group;
    AgentLink& agent;  // receives checkpoints that cannot be read
    /// What a step is trained on.
    std::function<Result<TrainData const*>(int step)> data_of;
};

/// Restores `trainer` and returns the first step to do (0 without a checkpoint). invalid_input if
/// the checkpoint belongs to other data, buckets or another model: continuing would silently repeat
/// or skip samples. io: the folder of checkpoints is there and cannot be read. cancelled: ordered
/// to stop while it was waited for.
[[nodiscard]] Result<int> restore_latest(ResumeContext const& context, Trainer& trainer);

}  // namespace osora::worker
