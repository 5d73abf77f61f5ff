// What to sample: a request over the settings of the checkpoint's training, checked against the
// sizes that the network accepts. Pure.
#pragma once

#include "base/result.hpp"
#include "plan/model/model_description.hpp"
#include "worker/jobs/sample/sample_request.hpp"
#include "worker/train/checkpoint.hpp"

#include <cstdint>
#include <string>

namespace osora::worker {

struct SamplePlan {
    plan::ModelShape shape;
    int num_frames = 0, height = 0, width = 0;  // of the clip, in pixels
    double fps = 0;
    int steps = 0;
    double cfg_scale = 0;
    std::uint64_t seed = 0;
    bool timestep_shift = false;
    std::string precision = "fp32";  // of the network; what it samples is fp32

    /// A network on pixels needs no autoencoder.
    [[nodiscard]] bool is_latent() const { return shape.vae.spatial > 1 || shape.vae.temporal > 1; }
    [[nodiscard]] std::int64_t latent_frames() const;
    [[nodiscard]] std::int64_t latent_height() const { return height / shape.vae.spatial; }
    [[nodiscard]] std::int64_t latent_width() const { return width / shape.vae.spatial; }
};

/// Sizes that are not whole tokens are not_divisible, with the nearest that are. `vae`: of the run;
/// used for a network without its own whose channels are not RGB.
[[nodiscard]] Result<SamplePlan> sample_plan(SampleRequest const& request,
                                             CheckpointState const& state,
                                             plan::VaeShape const& vae = {});

}  // namespace osora::worker
