// The video autoencoder of a job with its weights: what encoding, decoding and train_vae share.
#pragma once

#include "base/result.hpp"
#include "plan/worker_job.hpp"
#include "worker/model/weights/loaded_weights.hpp"
#include "worker/parallel/device.hpp"
#include "worker/vae/vae_pipeline.hpp"

namespace osora::worker {

/// Sizes of [vae]; "auto" is what the plan chose, else the published 4 and 17 frames. The 2-D part
/// is frozen where train_vae is asked to by vae_loss.freeze_2d. Errors name what cannot work.
[[nodiscard]] Result<VaePipelineConfig> vae_config_of(plan::WorkerJob const& job);

/// With the weights of vae.weights, whose errors name the file and the tensors, and of which
/// `notices` gets what was left out or renamed; without the key
/// random ones from the seed, the same on every rank.
[[nodiscard]] Result<VaePipeline> make_vae(plan::WorkerJob const& job, Device const& device,
                                           Notices& notices);

}  // namespace osora::worker
