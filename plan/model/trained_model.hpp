// What a job trains, and what its samples must fit: the diffusion model, or an autoencoder. Pure.
#pragma once

#include "base/result.hpp"
#include "plan/config/run_config.hpp"
#include "plan/model/model_description.hpp"

#include <string>

namespace osora::plan {

/// job = "train_vae" or "train_vqvae".
[[nodiscard]] bool trains_autoencoder(RunConfig const& config);

/// "stdit3-tiny", "vae opensora-v1.2", "vqvae 2048 x 256": checkpoints of another do not fit.
[[nodiscard]] std::string trained_arch(RunConfig const& config);

/// The shape that buckets are cut for: of the model, or one whose pixel_multiple() is what the
/// autoencoder divides frames by. not_found names an unknown architecture.
[[nodiscard]] Result<ModelShape> sample_shape(RunConfig const& config);

}  // namespace osora::plan
