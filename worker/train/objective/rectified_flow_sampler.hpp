// The sampling loop of Open-Sora v1.2 (opensora/schedulers/rf/__init__.py, RFLOW.sample): Euler
// steps from noise to a sample with classifier-free guidance. The network is a function.
#pragma once

#include "worker/train/objective/rectified_flow.hpp"

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace osora::worker {

struct SamplerConfig {
    RectifiedFlowConfig flow;
    std::int64_t num_sampling_steps = 30;
    double cfg_scale = 7.0;
};

/// The times of all steps, falling from num_timesteps; (steps, B).
[[nodiscard]] at::Tensor sampling_times(SamplerConfig const& config,
                                        std::vector<VideoSize> const& sizes);

struct SamplerNetwork {
    /// x (2B, C, T, H, W), t (2B), x_mask (2B, T) bool or undefined -> (2B, C or 2C, T, H, W); the
    /// first B with captions, the others with null captions.
    std::function<at::Tensor(at::Tensor const& x, at::Tensor const& t, at::Tensor const& x_mask)>
        forward;
    /// Noise of the shape of z for frames that join at a step; asked with a mask only.
    std::function<at::Tensor(std::int64_t step)> noise;
};

/// z (B, C, T, H, W): noise, or given frames. mask (B, T) in 0..1, undefined: all 1. A frame of
/// mask m keeps z until the time falls to m, then gets noise of that time and is sampled from
/// there.
[[nodiscard]] at::Tensor sample_flow(SamplerConfig const& config, at::Tensor const& times,
                                     at::Tensor z, at::Tensor const& mask,
                                     SamplerNetwork const& network);

}  // namespace osora::worker
