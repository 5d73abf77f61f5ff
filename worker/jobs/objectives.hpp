// The network of a job with its first weights, behind what the trainer drives.
#pragma once

#include "base/result.hpp"
#include "plan/model_description.hpp"
#include "plan/worker_job.hpp"
#include "worker/parallel/device.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/train/objective.hpp"

#include <memory>
#include <optional>

namespace osora::worker {

/// Every rank gets the same weights: from the seed, or from model.init, whose errors name the file
/// and what is wrong in it. `group`: the ranks, for what an objective sums over them.
[[nodiscard]] Result<std::unique_ptr<Objective>> make_objective(plan::WorkerJob const& job,
                                                                Device const& device,
                                                                std::optional<Group> const& group);

/// STDiT3: how train.timesteps and train.timestep_shift make times.
[[nodiscard]] RectifiedFlowConfig flow_of(plan::WorkerJob const& job,
                                          plan::ModelShape const& shape);
/// train.timestep_shift; auto: as the family is trained in Open-Sora.
[[nodiscard]] bool shifts_timesteps(plan::WorkerJob const& job, plan::ModelShape const& shape);

}  // namespace osora::worker
