// Tiles and seams against what they must be for networks whose results are known.
#include "worker/vae/tiling.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace osora::worker {
namespace {

TEST(Tiling, SizesOfDiffusers) {  // tile_sample_min_size 512, tile_latent_min_size 64
    Tiling const tiling{512, 0.25};
    auto const encode = encode_tiles(tiling, 8);
    EXPECT_EQ(encode.in_side, 512);
    EXPECT_EQ(encode.in_step, 384);
    EXPECT_EQ(encode.blend, 16);
    EXPECT_EQ(encode.out_step, 48);
    auto const decode = decode_tiles(tiling, 8);
    EXPECT_EQ(decode.in_side, 64);
    EXPECT_EQ(decode.in_step, 48);
    EXPECT_EQ(decode.blend, 128);
    EXPECT_EQ(decode.out_step, 384);
}

TEST(Tiling, ANetworkThatLooksAtPixelsOnlyIsNotChanged) {
    at::Tensor const frames = at::randn({2, 3, 30, 22});
    auto const twice = [](at::Tensor const& x) {
        return at::upsample_nearest2d(x, {2 * x.size(2), 2 * x.size(3)});
    };
    auto const tiled = run_tiled(frames, decode_tiles({16, 0.25}, 2), twice);
    EXPECT_TRUE(tiled.sub(twice(frames)).abs().max().item<double>() < 1e-6);
}

TEST(Tiling, SeamsAreLinearRamps) {
    int calls = 0;
    auto const number_of_tile = [&](at::Tensor const& x) {
        return x.zero_().add(static_cast<double>(calls++));
    };
    at::Tensor const out =
        run_tiled(at::randn({1, 1, 8, 20}), encode_tiles({8, 0.5}, 1), number_of_tile);
    // A tile every 4 pixels; its first 4 go from the one before to its own: t - 1 + y / 4.
    at::Tensor expected = at::arange(20, at::kDouble).div(4).sub(1).clamp_min(0);
    EXPECT_LT(out[0][0][0].sub(expected).abs().max().item<double>(), 1e-6);
}

TEST(Tiling, HoldsNoMoreThanATile) {
    std::int64_t largest = 0;
    auto const watch = [&](at::Tensor const& x) {
        largest = std::max(largest, x.numel());
        return x.clone();
    };
    at::Tensor const frames = at::randn({1, 1, 50, 70});
    EXPECT_EQ(run_tiled(frames, encode_tiles({16, 0.25}, 1), watch).sizes(), frames.sizes());
    EXPECT_EQ(largest, 16 * 16);
}

}  // namespace
}  // namespace osora::worker
