// The network of a job with its first weights, behind what the trainer drives.
#pragma once

#include "base/result.hpp"
#include "plan/model/model_description.hpp"
#include "plan/worker_job.hpp"
#include "worker/model/weights/loaded_weights.hpp"
#include "worker/parallel/device.hpp"
#include "worker/parallel/rank_groups.hpp"
#include "worker/train/objective/mmdit_objective.hpp"
#include "worker/train/objective/objective.hpp"

#include <memory>
#include <string>
#include <vector>

namespace osora::worker {

/// Every rank gets the same weights: from the seed, or from model.init, whose errors name the file
/// and what is wrong in it. `groups`: with whom an objective sums, and its network shares tokens
/// and linear layers. `notices` gets what was left out of weights, renamed or changed.
[[nodiscard]] Result<std::unique_ptr<Objective>> make_objective(plan::WorkerJob const& job,
                                                                Device const& device,
                                                                RankGroups const& groups,
                                                                Notices& notices);

/// MMDiT: "" as the run's cache of captions (text.embeddings) has it; undefined without a cache, or
/// where it has none. Errors: those of a cache that does not read or fit.
[[nodiscard]] Result<NullCaption> cached_null(plan::WorkerJob const& job,
                                              plan::ModelShape const& shape);

/// STDiT3: how train.timesteps and train.timestep_shift make times.
[[nodiscard]] RectifiedFlowConfig flow_of(plan::WorkerJob const& job,
                                          plan::ModelShape const& shape);
/// train.timestep_shift; auto: as the family is trained in Open-Sora.
[[nodiscard]] bool shifts_timesteps(plan::WorkerJob const& job, plan::ModelShape const& shape);

}  // namespace osora::worker
