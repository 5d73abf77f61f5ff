#include "worker/train/objective/rectified_flow_sampler.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/where.h>

namespace osora::worker {
namespace {

at::Tensor per_frame(at::Tensor const& mask) {  // (B, T) -> (B, 1, T, 1, 1)
    return mask.view({mask.size(0), 1, mask.size(1), 1, 1});
}

}  // namespace

at::Tensor sampling_times(SamplerConfig const& config, std::vector<VideoSize> const& sizes) {
    std::int64_t const steps = config.num_sampling_steps;
    at::Tensor times = at::empty({steps, static_cast<std::int64_t>(sizes.size())}, at::kFloat);
    auto* next = times.mutable_data_ptr<float>();
    for (std::int64_t i = 0; i < steps; ++i) {
        double const part = static_cast<double>(i) / static_cast<double>(steps);
        double const t = (1 - part) * config.flow.num_timesteps;
        for (VideoSize const& size : sizes) {
            bool const is_image = sizes.front().num_frames == 1;
            *next++ = static_cast<float>(config.flow.use_timestep_transform
                                             ? timestep_transform(config.flow, t, size, is_image)
                                             : t);
        }
    }
    return times;
}

at::Tensor sample_flow(SamplerConfig const& config, at::Tensor const& times, at::Tensor z,
                       at::Tensor const& mask, SamplerNetwork const& network) {
    std::int64_t const steps = times.size(0), channels = z.size(1);
    double const end = config.flow.num_timesteps;
    at::Tensor joined = mask.defined() ? mask.eq(1) : at::Tensor();  // frames that have their noise
    for (std::int64_t i = 0; i < steps; ++i) {
        at::Tensor const t = times.select(0, i);
        at::Tensor const before = z;
        at::Tensor sampled, x_mask;
        if (mask.defined()) {
            sampled = at::mul(mask, end).ge(t.unsqueeze(1));
            x_mask = sampled.repeat({2, 1});
            at::Tensor const noised = add_noise(config.flow, z, network.noise(i), t);
            z = at::where(per_frame(sampled.logical_and(joined.logical_not())), noised, z);
            joined = sampled;
        }
        at::Tensor const output = network.forward(at::cat({z, z}), at::cat({t, t}), x_mask);
        auto const velocity = output.narrow(1, 0, channels).chunk(2);
        at::Tensor const guided = at::lerp(velocity[1], velocity[0], config.cfg_scale);
        at::Tensor const after = i + 1 < steps ? times.select(0, i + 1) : t.mul(0);
        at::Tensor const step = t.sub(after).div(end).view({-1, 1, 1, 1, 1});
        z = at::add(z, at::mul(guided, step));
        if (mask.defined()) z = at::where(per_frame(sampled), z, before);
    }
    return z;
}

}  // namespace osora::worker
