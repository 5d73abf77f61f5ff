#include "worker/train/objective/token_sampler.hpp"

#include "tests/parity/compare.hpp"

#include <gtest/gtest.h>
#include <torch/types.h>

namespace osora::worker {
namespace {

/// alpha t / (1 + (alpha - 1) t) of 1, 0.75, 0.5, 0.25, 0, as opensora/utils/sampling.py lists
/// them.
TEST(TokenSampler, TimesFallFromOneToZero) {
    auto const even = token_times(4, 1.0);
    auto const shifted = token_times(4, 3.0);
    std::vector<double> const expected_even{1, 0.75, 0.5, 0.25, 0};
    std::vector<double> const expected_shifted{1, 0.9, 0.75, 0.5, 0};
    ASSERT_EQ(even.size(), 5u);
    ASSERT_EQ(shifted.size(), 5u);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_NEAR(even[i], expected_even[i], kExact);
        EXPECT_NEAR(shifted[i], expected_shifted[i], kExact);
    }
}

/// On the straight path of one sample the velocity is noise - sample wherever one is.
TEST(TokenSampler, FollowsAStraightPathToItsEnd) {
    at::Tensor const sample = torch::randn({1, 6, 4}), noise = torch::randn({1, 6, 4});
    TokenNetwork network;
    network.with_caption = [&](at::Tensor const&, at::Tensor const&) { return noise - sample; };
    for (int const steps : {1, 7, 50}) {
        at::Tensor const end = sample_tokens(token_times(steps, 3.0), 4.0, noise, network);
        EXPECT_LE((end - sample).abs().max().item<double>(), kFp32Order) << steps;
    }
}

TEST(TokenSampler, GuidanceGoesBeyondTheCaption) {
    at::Tensor const noise = torch::randn({2, 3, 4});
    TokenNetwork network;
    std::vector<double> seen;
    network.with_caption = [&](at::Tensor const& x, at::Tensor const& t) {
        seen.push_back(t[1].item<double>());
        return x * 0 + 2;
    };
    network.without_caption = [](at::Tensor const& x, at::Tensor const&) { return x * 0 + 1; };
    // 1 + 4 (2 - 1) = 5, over a time of 1.
    at::Tensor const end = sample_tokens(token_times(2, 1.0), 4.0, noise, network);
    EXPECT_LE((noise - 5 - end).abs().max().item<double>(), kFp32Order);
    EXPECT_EQ(seen, (std::vector<double>{1, 0.5}));
}

}  // namespace
}  // namespace osora::worker
