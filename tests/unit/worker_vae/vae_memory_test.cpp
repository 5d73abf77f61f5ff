// The peak of encode and decode, counted in LibTorch's allocator, against the formula, and that it
// does not grow with the number of chunks.
#include "plan/vae/vae_memory.hpp"
#include "tests/kit/counted_memory.hpp"
#include "worker/vae/vae_pipeline.hpp"

#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

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

/// Measured over computed.
Peaks ratios(Peaks const& peaks, VaePipelineConfig const& config, plan::VaeClip const& clip) {
    return {peaks.encode / (kBytes * static_cast<double>(plan::encode_peak(config, clip))),
            peaks.decode / (kBytes * static_cast<double>(plan::decode_peak(config, clip)))};
}

void expect_formula(Peaks const& ratio) {
    testing::Test::RecordProperty("encode", std::to_string(ratio.encode));
    testing::Test::RecordProperty("decode", std::to_string(ratio.decode));
    EXPECT_LT(ratio.encode, 1.3);
    EXPECT_GT(ratio.encode, 0.6);
    EXPECT_LT(ratio.decode, 1.3);
    EXPECT_GT(ratio.decode, 0.6);
}

TEST(VaeMemory, OneChunkIsTheFormula) {
    auto const config = config_of(0, 0);
    plan::VaeClip const clip{2, 4, 48, 48};
    expect_formula(ratios(measure(config, clip), config, clip));
}

TEST(VaeMemory, ManyChunksHoldNoMoreThanOne) {
    auto const config = config_of(4, 4);
    plan::VaeClip const one{2, 4, 48, 48};
    plan::VaeClip const many{2, 12, 48, 48};
    auto const chunked = measure(config, many);
    expect_formula(ratios(chunked, config, many));
    // Of encode only the latents grow, so that one chunk bounds it.
    EXPECT_LT(ratios(chunked, config, one).encode, 1.3);
    EXPECT_GT(ratios(measure(config_of(0, 0), many), config, one).encode, 2.5);
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
