// The video autoencoder of a job with its weights, for encoding, decoding and train_vae.
#pragma once

#include "base/result.hpp"
#include "plan/worker_job.hpp"
#include "worker/model/weights/loaded_weights.hpp"
#include "worker/parallel/device.hpp"
#include "worker/vae/vae_pipeline.hpp"

namespace osora::worker {

/// Sizes of [vae]; "auto" becomes the plan's choice, else the published 4 and 17 frames. The 2-D
/// part is frozen if train_vae has vae_loss.freeze_2d. Errors name what cannot work.
[[nodiscard]] Result<VaePipelineConfig> vae_config_of(plan::WorkerJob const& job);

/// With the weights of vae.weights, whose errors name the file and the tensors; adds to `notices`
/// what was dropped or renamed. Without the key random ones from the seed, the same on every rank.
[[nodiscard]] Result<VaePipeline> make_vae(plan::WorkerJob const& job, Device const& device,
                                           Notices& notices);

}  // namespace osora::worker
