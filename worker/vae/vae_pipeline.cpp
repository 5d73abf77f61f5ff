#include "worker/vae/vae_pipeline.hpp"

#include "base/check.hpp"
#include "plan/vae/vae_chunks.hpp"
#include "worker/vae/gaussian.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <vector>

namespace osora::worker {
namespace {

/// Frames [start, start + count) of clip `clip`: a run of the (B T) order inside one clip.
struct FrameRun {
    std::int64_t clip = 0;
    std::int64_t start = 0;
    std::int64_t count = 0;
};

/// The frames [first, end) of the (B T) order.
std::vector<FrameRun> runs_of(std::int64_t first, std::int64_t end, std::int64_t frames) {
    std::vector<FrameRun> runs;
    while (first < end) {
        std::int64_t const clip = first / frames;
        std::int64_t const count = std::min(end, (clip + 1) * frames) - first;
        runs.push_back({clip, first % frames, count});
        first += count;
    }
    return runs;
}

at::Tensor slice(at::Tensor const& video, FrameRun const& run) {
    return video[run.clip].narrow(1, run.start, run.count).transpose(0, 1);  // (count, C, H, W)
}

/// `network` over the frames of `video` (B, C, T, H, W), `micro_batch` at a time; the whole result
/// (B, C', T, H', W') is made once and filled.
template <class Network>
at::Tensor over_frames(at::Tensor const& video, std::int64_t micro_batch, Network const& network) {
    std::int64_t const frames = video.size(2);
    std::int64_t const total = video.size(0) * frames;
    std::int64_t const step = micro_batch > 0 ? micro_batch : total;
    at::Tensor result;
    for (std::int64_t first = 0; first < total; first += step) {
        auto const runs = runs_of(first, std::min(first + step, total), frames);
        std::vector<at::Tensor> inputs;
        for (auto const& run : runs) inputs.push_back(slice(video, run));
        at::Tensor const out =
            network(inputs.size() == 1 ? inputs[0].contiguous() : at::cat(inputs), first);
        if (!result.defined())
            result = at::empty({video.size(0), out.size(1), frames, out.size(2), out.size(3)},
                               out.options());
        std::int64_t done = 0;
        for (auto const& run : runs) {
            slice(result, run).copy_(out.narrow(0, done, run.count));
            done += run.count;
        }
    }
    return result;
}

}  // namespace

VaePipeline::VaePipeline(VaePipelineConfig const& config, at::TensorOptions options)
    : config_(config),
      parameters_(options),
      spatial_(parameters_, config.spatial,
               {"spatial_vae.module",
                config.freeze_vae_2d ? TensorKind::frozen : TensorKind::trainable}),
      temporal_(parameters_, config.temporal, {"temporal_vae", TensorKind::trainable}),
      scale_(parameters_.add("scale", {1, config.temporal.embed_dim, 1, 1, 1}, TensorKind::buffer)),
      shift_(
          parameters_.add("shift", {1, config.temporal.embed_dim, 1, 1, 1}, TensorKind::buffer)) {
    OSORA_CHECK(check_vae_config(config).has_value());
}

std::int64_t VaePipeline::latent_frames(std::int64_t num_frames) const {
    return plan::latent_frames(num_frames, config_.micro_frame_size, config_.temporal.factor());
}

at::Tensor VaePipeline::encode_frames(at::Tensor const& x, at::Tensor const& eps) const {
    Tiling const tiling{config_.tile_sample_min_size, config_.tile_overlap_factor};
    return over_frames(x, config_.micro_batch_size, [&](at::Tensor const& chunk, auto first) {
        auto const gaussian = gaussian_of(spatial_.encode(chunk.to(scale_.scalar_type()), tiling));
        at::Tensor const noise = eps.defined() ? eps.narrow(0, first, chunk.size(0)) : eps;
        return sample(gaussian, noise).mul(config_.z_scale_2d);
    });
}

at::Tensor VaePipeline::decode_frames(at::Tensor const& x_z) const {
    Tiling const tiling{config_.tile_sample_min_size, config_.tile_overlap_factor};
    return over_frames(x_z, config_.micro_batch_size, [&](at::Tensor const& chunk, auto) {
        return spatial_.decode(chunk.div(config_.z_scale_2d), tiling);
    });
}

VaeEncoded VaePipeline::encode(at::Tensor const& x, VaeNoise const& noise) const {
    OSORA_CHECK_EQ(x.dim(), 5);
    VaeEncoded out;
    out.x_z = encode_frames(x, noise.spatial);
    auto const chunks =
        plan::frame_chunks(x.size(2), config_.micro_frame_size, config_.temporal.factor());
    std::vector<at::Tensor> moments;
    for (auto const& chunk : chunks)
        moments.push_back(temporal_.encode(out.x_z.narrow(2, chunk.start, chunk.frames)));
    out.moments = at::cat(moments, 2);
    out.z = sample(gaussian_of(out.moments), noise.temporal).sub(shift_).div(scale_);
    return out;
}

VaeDecoded VaePipeline::decode(at::Tensor const& z, std::int64_t num_frames) const {
    OSORA_CHECK_EQ(z.dim(), 5);
    OSORA_CHECK_EQ(z.size(2), latent_frames(num_frames));
    at::Tensor const latents = z.to(scale_.scalar_type()).mul(scale_).add(shift_);
    std::vector<at::Tensor> parts;
    for (auto const& chunk :
         plan::frame_chunks(num_frames, config_.micro_frame_size, config_.temporal.factor()))
        parts.push_back(
            temporal_.decode(latents.narrow(2, chunk.latent_start, chunk.latents), chunk.frames));
    VaeDecoded out;
    out.x_z = at::cat(parts, 2);
    out.x = decode_frames(out.x_z);
    return out;
}

}  // namespace osora::worker
