// The network of a job with its initial weights, wrapped in the trainer's interface.
#pragma once

#include "base/result.hpp"
#include "plan/model/model_description.hpp"
#include "plan/worker_job.hpp"
#include "worker/model/weights/loaded_weights.hpp"
#include "worker/parallel/device.hpp"
#include "worker/parallel/rank_groups.hpp"
#include "worker/train/objective/mmdit_objective.hpp"
#include "worker/train/objective/objective.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace osora::worker {

using Progressed = std::function<void()>;

/// Every rank gets the same weights: from the seed, or from model.init, whose errors name the file
/// and the problem. `groups`: ranks over which an objective sums and which share its network's
/// tokens and linear layers. With a ZeRO stage its trainable weights have no memory before
/// make_data_parallel(). Adds to `notices` what was dropped from weights, renamed or changed; calls
/// `progressed` for each tensor of model.init that was read.
[[nodiscard]] Result<std::unique_ptr<Objective>> make_objective(plan::WorkerJob const& job,
                                                                Device const& device,
                                                                RankGroups const& groups,
                                                                Notices& notices,
                                                                Progressed const& progressed = {});

/// MMDiT: "" from the run's cache of captions (text.embeddings); undefined without a cache, or if
/// it lacks it. Errors: those of a cache that cannot be read or does not match.
[[nodiscard]] Result<NullCaption> cached_null(plan::WorkerJob const& job,
                                              plan::ModelShape const& shape);

/// STDiT3: how train.timesteps and train.timestep_shift define times.
[[nodiscard]] RectifiedFlowConfig flow_of(plan::WorkerJob const& job,
                                          plan::ModelShape const& shape);
/// train.timestep_shift; auto: as in Open-Sora's training of the family.
[[nodiscard]] bool shifts_timesteps(plan::WorkerJob const& job, plan::ModelShape const& shape);

}  // namespace osora::worker
