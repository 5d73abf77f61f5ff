// Rules that relate [vae], [vae_loss] and [vqvae] to the buckets, for jobs that train an
// autoencoder. Pure; part of validate.
#pragma once

#include "plan/validate.hpp"

#include <vector>

namespace osora::plan {

/// In the order of the run file's sections.
[[nodiscard]] std::vector<ConfigViolation> autoencoder_violations(RunConfig const& config);

}  // namespace osora::plan
