// The objectives of job = "train_vae" and "train_vqvae" with their initial weights.
#pragma once

#include "base/result.hpp"
#include "plan/worker_job.hpp"
#include "worker/model/weights/loaded_weights.hpp"
#include "worker/parallel/device.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/train/objective/objective.hpp"

#include <memory>
#include <optional>

namespace osora::worker {

/// Weights as make_vae(); LPIPS from vae_loss.lpips, whose errors name the file and its tensors.
[[nodiscard]] Result<std::unique_ptr<Objective>> make_vae_objective(
    plan::WorkerJob const& job, Device const& device, std::optional<Group> const& group,
    Notices& notices);

/// Weights from vae.weights by VideoGPT's names, or from the seed.
[[nodiscard]] Result<std::unique_ptr<Objective>> make_vqvae_objective(
    plan::WorkerJob const& job, Device const& device, std::optional<Group> const& group,
    Notices& notices);

}  // namespace osora::worker
