// The model that a job trains, and the requirements for its samples: the diffusion model, or an
// autoencoder. Pure.
#pragma once

#include "base/result.hpp"
#include "plan/config/run_config.hpp"
#include "plan/model/model_description.hpp"

#include <string>

namespace osora::plan {

/// job = "train_vae" or "train_vqvae".
[[nodiscard]] bool trains_autoencoder(RunConfig const& config);

/// job = "train" or "rehearse": passes through the network, whose layers, tokens and blocks ranks
/// can share.
[[nodiscard]] bool runs_network(RunConfig const& config);

/// "stdit3-tiny", "vae opensora-v1.2", "vqvae 2048 x 256": checkpoints of another are incompatible.
[[nodiscard]] std::string trained_arch(RunConfig const& config);

/// The shape for which buckets are made: of the model, or one whose pixel_multiple() is the
/// autoencoder's. not_found names an unknown architecture.
[[nodiscard]] Result<ModelShape> sample_shape(RunConfig const& config);

}  // namespace osora::plan
