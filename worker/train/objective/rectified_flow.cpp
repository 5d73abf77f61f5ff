#include "worker/train/objective/rectified_flow.hpp"

#include "base/check.hpp"

#include <ATen/ops/cos.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/where.h>

#include <cmath>
#include <numbers>

namespace osora::worker {
namespace {

// Of Open-Sora's autoencoder.
constexpr std::int64_t kChunkFrames = 17, kChunkLatents = 5;
constexpr double kFramesALatent = 4;

at::Tensor frame_mask(at::Tensor const& x_mask) {  // (B, T) -> (B, 1, T, 1, 1)
    return x_mask.view({x_mask.size(0), 1, x_mask.size(1), 1, 1});
}

double latent_frames(RectifiedFlowConfig const& config, VideoSize const& size, bool is_image) {
    if (is_image) return 1;
    if (config.latent_frames == LatentFrames::pixels) return static_cast<double>(size.num_frames);
    bool const is_short = size.num_frames < kChunkFrames;
    if (is_short && config.latent_frames == LatentFrames::also_of_short_clips)
        return std::ceil(static_cast<double>(size.num_frames) / kFramesALatent);
    return static_cast<double>(size.num_frames / kChunkFrames * kChunkLatents);
}

}  // namespace

double timestep_from_draw(RectifiedFlowConfig const& config, double draw) {
    switch (config.sampling) {
        case TimestepSampling::uniform:
            return draw * config.num_timesteps;
        case TimestepSampling::discrete:
            return std::floor(draw * config.num_timesteps);
        case TimestepSampling::logit_normal:
            break;
    }
    double const normal = config.loc + config.scale * draw;
    return config.num_timesteps / (1 + std::exp(-normal));
}

double timestep_transform(RectifiedFlowConfig const& config, double t, VideoSize const& size,
                          bool is_image) {
    double const space = std::sqrt(size.height_px * size.width_px / config.base_area_px);
    double const time = std::sqrt(latent_frames(config, size, is_image));
    double const ratio = space * time * config.transform_scale;
    double const tau = t / config.num_timesteps;
    return config.num_timesteps * ratio * tau / (1 + (ratio - 1) * tau);
}

double sample_timestep(RectifiedFlowConfig const& config, VideoSize const& size, SampleRng rng) {
    bool const normal = config.sampling == TimestepSampling::logit_normal;
    double const t = timestep_from_draw(config, normal ? rng.normal() : rng.uniform());
    return config.use_timestep_transform ? timestep_transform(config, t, size, size.num_frames == 1)
                                         : t;
}

at::Tensor sample_noise(std::vector<std::uint64_t> const& keys, at::IntArrayRef shape) {
    // Box-Muller on whole tensors: row i takes pairs of 24-bit uniforms from the stream keys[i].
    auto const batch = static_cast<std::int64_t>(keys.size());
    std::int64_t count = 1;
    for (std::int64_t const size : shape) count *= size;
    std::int64_t const pairs = (count + 1) / 2;
    at::Tensor uniforms = at::empty({2, batch, pairs}, at::kFloat);
    auto* first = uniforms.mutable_data_ptr<float>();
    auto* second = first + batch * pairs;
    for (std::uint64_t const key : keys) {
        SampleRng rng(key);
        for (std::int64_t i = 0; i < pairs; ++i) {
            std::uint64_t const bits = rng.next();
            *first++ = static_cast<float>((bits >> 40) + 1) * 0x1p-24f;  // (0, 1]
            *second++ = static_cast<float>((bits >> 8) & 0xFFFFFF) * 0x1p-24f;
        }
    }
    at::Tensor const radius = uniforms.select(0, 0).log_().mul_(-2).sqrt_();
    at::Tensor const angle = uniforms.select(0, 1).mul_(2 * std::numbers::pi);
    std::vector<std::int64_t> full{batch};
    full.insert(full.end(), shape.begin(), shape.end());
    at::Tensor noise = at::empty(full, at::kFloat);
    at::Tensor rows = noise.view({batch, count});
    rows.narrow(1, 0, pairs).copy_(at::mul(radius, at::cos(angle)));
    rows.narrow(1, pairs, count - pairs)
        .copy_(at::mul(radius, at::sin(angle)).narrow(1, 0, count - pairs));
    return noise;
}

at::Tensor add_noise(RectifiedFlowConfig const& config, at::Tensor const& x_start,
                     at::Tensor const& noise, at::Tensor const& t, at::Tensor const& x_mask) {
    OSORA_CHECK(x_start.sizes() == noise.sizes());
    at::Tensor const tau =
        t.to(x_start.scalar_type()).div(config.num_timesteps).view({t.size(0), 1, 1, 1, 1});
    at::Tensor const x_t = at::lerp(x_start, noise, tau);
    return x_mask.defined() ? at::where(frame_mask(x_mask), x_t, x_start) : x_t;
}

at::Tensor flow_losses(at::Tensor const& model_output, at::Tensor const& x_start,
                       at::Tensor const& noise, at::Tensor const& x_mask) {
    std::int64_t const channels = x_start.size(1);
    OSORA_CHECK(model_output.size(1) == channels || model_output.size(1) == 2 * channels);
    at::Tensor const velocity = model_output.narrow(1, 0, channels);
    // In bf16 the target is rounded, the loss is not.
    at::Tensor const target = at::sub(x_start, noise).to(velocity.scalar_type());
    at::Tensor const errors = at::mse_loss(velocity, target, at::Reduction::None);
    if (!x_mask.defined()) return errors.mean({1, 2, 3, 4});
    at::Tensor const per_frame = errors.mean({1, 3, 4});  // (B, T)
    at::Tensor const used = x_mask.to(per_frame.scalar_type());
    return at::mul(per_frame, used).sum(1).div(used.sum(1));
}

}  // namespace osora::worker
