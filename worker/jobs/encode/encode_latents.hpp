// Clips of an encode run: decoded by the loader, then encoded by the autoencoder batch by batch.
#pragma once

#include "worker/jobs/encode/encode_steps.hpp"

namespace osora::worker {

/// Makes the shards `open` of plan.latents, in order; ends early when the agent asks. Skips clips
/// that cannot be decoded, and reports them to the agent. Clips that cannot be read are tried again
/// (for 60 s in all); a shard with a clip that the file system still does not give is not written.
[[nodiscard]] Result<void> encode_latents(plan::WorkerJob const& job, EncodePlan const& plan,
                                          VaePipeline const& vae,
                                          std::vector<std::size_t> const& open, EncodeSteps& steps);

/// The posterior of clips: mean and deviation, both after the VAE's shift and scale.
struct Posterior {
    at::Tensor mean, std;  // (B, C, T, H, W)
};
/// x (B, 3, T, H, W) in [-1, 1]
[[nodiscard]] Posterior posterior_of(VaePipeline const& vae, at::Tensor const& x);

}  // namespace osora::worker
