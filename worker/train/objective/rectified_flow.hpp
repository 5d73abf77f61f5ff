// Rectified flow as Open-Sora v1.2 trains it (opensora/schedulers/rf/rectified_flow.py): times,
// noising and loss. Times are host numbers; the rest is tensor code without a host sync.
#pragma once

#include "worker/train/sample_rng.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace osora::worker {

enum class TimestepSampling { uniform, logit_normal, discrete };
/// How many latent frames count for the time shift.
enum class LatentFrames {
    open_sora_vae,  // num_frames // 17 * 5; 1 for images
    /// The same, but ceil(num_frames / 4) below 17 frames: Open-Sora counts none there, which makes
    /// each time 0, and the first one of a sample NaN.
    also_of_short_clips,
    pixels  // num_frames: no VAE
};

struct RectifiedFlowConfig {
    double num_timesteps = 1000;
    TimestepSampling sampling = TimestepSampling::uniform;
    double loc = 0.0;  // of the normal in logit_normal
    double scale = 1.0;
    bool use_timestep_transform = false;
    double transform_scale = 1.0;
    double base_area_px = 512.0 * 512.0;  // area at which an image is not shifted
    LatentFrames latent_frames = LatentFrames::open_sora_vae;
};

struct VideoSize {
    double height_px = 0;
    double width_px = 0;
    std::int64_t num_frames = 1;
};

/// A raw uniform in [0, 1) or normal draw to a time in [0, num_timesteps].
[[nodiscard]] double timestep_from_draw(RectifiedFlowConfig const& config, double draw);

/// t -> t': more noise for larger and longer videos. `is_image`: Open-Sora asks num_frames of
/// sample 0 for the whole batch.
[[nodiscard]] double timestep_transform(RectifiedFlowConfig const& config, double t,
                                        VideoSize const& size, bool is_image);

/// The time at which a sample is trained, from its own stream.
[[nodiscard]] double sample_timestep(RectifiedFlowConfig const& config, VideoSize const& size,
                                     SampleRng rng);

/// (B, shape...) of N(0, 1) in fp32 on the CPU; row i depends on keys[i] and shape alone.
[[nodiscard]] at::Tensor sample_noise(std::vector<std::uint64_t> const& keys,
                                      at::IntArrayRef shape);

/// (1 - t/num) x_start + t/num noise; x (B, C, T, H, W), t (B). Frames where x_mask (B, T; may be
/// undefined) is false keep x_start.
[[nodiscard]] at::Tensor add_noise(RectifiedFlowConfig const& config, at::Tensor const& x_start,
                                   at::Tensor const& noise, at::Tensor const& t,
                                   at::Tensor const& x_mask = {});

/// Mean squared error of the velocity x_start - noise for each sample, (B); over the frames with
/// x_mask true when there is one. model_output may have twice the channels (the rest is unread).
[[nodiscard]] at::Tensor flow_losses(at::Tensor const& model_output, at::Tensor const& x_start,
                                     at::Tensor const& noise, at::Tensor const& x_mask = {});

}  // namespace osora::worker
