// The peak of encode and decode, counted in LibTorch's allocator, against the formula, and that it
// does not grow with the number of chunks.
#include "plan/vae/vae_memory.hpp"
#include "tests/kit/counted_memory.hpp"
#include "worker/vae/vae_pipeline.hpp"

#include <ATen/ops/conv3d.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace osora::worker {
namespace {

constexpr double kBytes = sizeof(float);

/// To be run with two clips: for a single small one LibTorch's CPU backend unfolds the input of the
/// temporal VAE's convolutions, 27 times its size, instead of calling oneDNN.
VaePipelineConfig config_of(std::int64_t micro_batch_size, std::int64_t micro_frame_size) {
    VaePipelineConfig config;
    config.spatial.block_out_channels = {16, 32};
    config.spatial.norm_num_groups = 4;
    config.spatial.layers_per_block = 1;
    config.temporal.filters = 16;
    config.temporal.num_groups = 4;
    config.temporal.num_res_blocks = 1;
    config.micro_batch_size = micro_batch_size;
    config.micro_frame_size = micro_frame_size;
    return config;
}

struct Peaks {
    double encode = 0;
    double decode = 0;
};

Peaks measure(VaePipelineConfig const& config, plan::VaeClip const& clip) {
    at::NoGradGuard const no_grad;
    VaePipeline vae(config);
    vae.initialise(5);
    at::Tensor const x = at::randn({clip.clips, 3, clip.frames, clip.height, clip.width});
    Peaks peaks;
    at::Tensor z;
    {
        CountedMemory const memory;
        z = vae.encode(x).z;
        peaks.encode = static_cast<double>(memory.peak_bytes());
    }
    CountedMemory const memory;
    auto const decoded = vae.decode(z, clip.frames);
    peaks.decode = static_cast<double>(memory.peak_bytes());
    return peaks;
}

/// Bytes of oneDNN's scratch in the temporal VAE's widest convolution, beyond the copies that the
/// formula counts and the weights: without AVX2 it unfolds a frame for each thread, 27 times its
/// size, which is much beside clips as small as these. 0 with AVX2 and AVX-512.
double scratch_bytes(VaePipelineConfig const& config, plan::VaeClip const& clip) {
    at::NoGradGuard const no_grad;
    auto const& temporal = config.temporal;
    std::int64_t const width = temporal.filters * std::ranges::max(temporal.channel_multipliers);
    std::int64_t const down = config.spatial.factor();
    at::Tensor const x = at::randn({clip.clips, width, 3, clip.height / down, clip.width / down});
    at::Tensor const weight = at::randn({width, width, 3, 3, 3});
    CountedMemory const memory;
    at::Tensor const y = at::conv3d(x, weight, {}, {1, 1, 1}, {0, 1, 1});
    auto const counted =
        static_cast<double>(y.nbytes() + weight.nbytes() + std::max(x.nbytes(), y.nbytes()));
    return std::max(0.0, static_cast<double>(memory.peak_bytes()) - counted);
}

/// Bytes by the formula.
Peaks computed(VaePipelineConfig const& config, plan::VaeClip const& clip) {
    return {kBytes * static_cast<double>(plan::encode_peak(config, clip)),
            kBytes * static_cast<double>(plan::decode_peak(config, clip))};
}

void expect_formula(Peaks const& peaks, VaePipelineConfig const& config,
                    plan::VaeClip const& clip) {
    Peaks const formula = computed(config, clip);
    double const scratch = scratch_bytes(config, clip);
    testing::Test::RecordProperty("encode", std::to_string(peaks.encode / formula.encode));
    testing::Test::RecordProperty("decode", std::to_string(peaks.decode / formula.decode));
    testing::Test::RecordProperty("scratch", std::to_string(scratch / formula.encode));
    EXPECT_LT(peaks.encode, 1.3 * formula.encode + scratch);
    EXPECT_GT(peaks.encode, 0.6 * formula.encode);
    EXPECT_LT(peaks.decode, 1.3 * formula.decode + scratch);
    EXPECT_GT(peaks.decode, 0.6 * formula.decode);
}

TEST(VaeMemory, OneChunkIsTheFormula) {
    auto const config = config_of(0, 0);
    plan::VaeClip const clip{2, 4, 48, 48};
    expect_formula(measure(config, clip), config, clip);
}

TEST(VaeMemory, ManyChunksHoldNoMoreThanOne) {
    auto const config = config_of(4, 4);
    plan::VaeClip const one{2, 4, 48, 48};
    plan::VaeClip const many{2, 12, 48, 48};
    auto const chunked = measure(config, many);
    expect_formula(chunked, config, many);
    // Of encode only the latents grow, so that one chunk bounds it.
    double const chunk = computed(config, one).encode;
    EXPECT_LT(chunked.encode, 1.3 * chunk + scratch_bytes(config, one));
    EXPECT_GT(measure(config_of(0, 0), many).encode, 2.5 * chunk);
}

TEST(VaeMemory, ATileBoundsALargeFrame) {
    at::NoGradGuard const no_grad;
    SpatialVaeConfig const config = config_of(0, 0).spatial;
    Parameters parameters{at::TensorOptions()};
    SpatialVae const vae(parameters, config);
    initialise_vae(parameters, 5);
    at::Tensor const x = at::randn({2, 3, 128, 128});
    auto const peak = [&](Tiling const& tiling) {
        CountedMemory const memory;
        auto const moments = vae.encode(x, tiling);
        return static_cast<double>(memory.peak_bytes());
    };
    auto const moments = static_cast<double>(2 * 8 * 64 * 64);  // in rows, and put together
    auto const tile =
        static_cast<double>(plan::spatial_encode_memory(config, {1, 2, 64, 64}).worst);
    EXPECT_LT(peak({64, 0.25}), 1.3 * kBytes * (tile + 2 * moments));
    EXPECT_GT(peak({}), 2 * kBytes * (tile + 2 * moments));
}

TEST(VaeMemory, ThePublishedModelAt720p) {
    // By hand: 4 frames of 720 x 1280 at level 0 of the encoder, 128 channels, four times; the
    // latents of the clip, 51 x 90 x 160 x 4; the frames of the chunk, 3 channels.
    VaePipelineConfig const config;
    std::int64_t const pixels = 4 * 720 * 1280;
    EXPECT_EQ(plan::encode_peak(config, {1, 51, 720, 1280}),
              pixels * 4 * 128 + 51 * 90 * 160 * 4 + pixels * 3);
}

}  // namespace
}  // namespace osora::worker
