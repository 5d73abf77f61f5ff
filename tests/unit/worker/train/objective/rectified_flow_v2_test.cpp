// Tokens and times of Open-Sora v2.0's training step; its numbers are in tests/e2e_worker (F6).
#include "worker/train/objective/rectified_flow_v2.hpp"

#include "tests/parity/compare.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::worker {
namespace {

TEST(RectifiedFlowV2, PackedTokensComeBack) {
    at::Tensor const latent = at::randn({2, 3, 4, 6, 8});
    at::Tensor const tokens = pack_latent(latent);
    EXPECT_EQ(tokens.sizes(), (std::vector<std::int64_t>{2, 4 * 3 * 4, 12}));
    EXPECT_TRUE(at::equal(unpack_latent(tokens, {4, 6, 8}), latent));
    // Token (t, row, column) = (1, 2, 3) holds latent pixels (4..5, 6..7) of frame 1.
    EXPECT_TRUE(at::equal(tokens.select(1, 12 + 2 * 4 + 3).view({2, 3, 2, 2}),
                          latent.select(2, 1).narrow(2, 4, 2).narrow(3, 6, 2)));
    EXPECT_TRUE(at::equal(latent_ids(2, {4, 6, 8}).select(0, 1).select(0, 12 + 2 * 4 + 3),
                          at::tensor({1.0F, 2.0F, 3.0F})));
}

TEST(RectifiedFlowV2, TimesOfPublishedSizes) {
    EXPECT_NEAR(shift_alpha({1, 32, 32}), 1, 1e-12);    // 256 px through a VAE of 8
    EXPECT_NEAR(shift_alpha({1, 128, 128}), 3, 1e-12);  // 1024 px
    EXPECT_NEAR(shift_alpha({9, 32, 32}), 3, 1e-12);
    at::Tensor const half = at::full({1}, 0.0);  // sigmoid 0.5
    EXPECT_NEAR(shifted_times(half, 1).item<double>(), 0.5, kExact);
    EXPECT_NEAR(shifted_times(half, 3).item<double>(), 0.75, kExact);
}

TEST(RectifiedFlowV2, TheTargetIsTheSlopeOfThePath) {
    at::Tensor const x = at::randn({2, 5, 4}), noise = at::randn({2, 5, 4});
    auto const at_time = [&](double t) { return noised_tokens(x, noise, at::full({2}, t), 0.1); };
    at::Tensor const slope = at_time(0.75).sub(at_time(0.25)).mul(2);
    EXPECT_LE(slope.sub(velocity_target(x, noise, 0.1)).abs().max().item<double>(), kFp32Order);
    EXPECT_LE(at_time(1).sub(noise).abs().max().item<double>(), kFp32Order);
    EXPECT_EQ(velocity_loss(x, x).item<double>(), 0);
}

}  // namespace
}  // namespace osora::worker
