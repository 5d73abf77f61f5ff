// Numbers of a sample: known values, independence of everything but their key, distribution.
#include "worker/train/sample_rng.hpp"

#include "worker/train/objective/rectified_flow.hpp"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

namespace osora::worker {
namespace {

TEST(SampleRng, IsSplitMix64) {
    // The published first values for seed 1234567 (rosettacode.org, Pseudo-random numbers).
    SampleRng rng(1234567);
    for (std::uint64_t const expected :
         {6457827717110365317ull, 3203168211198807973ull, 9817491932198370423ull,
          4593380528125082431ull, 16408922859458223821ull})
        EXPECT_EQ(rng.next(), expected);
}

TEST(SampleRng, KeysDifferInEveryPart) {
    std::set<std::uint64_t> keys;
    for (std::uint64_t seed = 0; seed < 5; ++seed)
        for (std::uint64_t epoch = 0; epoch < 5; ++epoch)
            for (std::uint64_t sample = 0; sample < 200; ++sample)
                for (auto const purpose : {RngPurpose::timestep, RngPurpose::noise})
                    keys.insert(sample_key(seed, epoch, sample, purpose));
    EXPECT_EQ(keys.size(), 5u * 5 * 200 * 2);
}

TEST(SampleRng, BelowIsUnbiased) {
    SampleRng rng(7);
    std::array<int, 6> counts{};
    for (int i = 0; i < 60'000; ++i) ++counts[rng.below(6)];
    double chi_square = 0;
    for (int const count : counts) chi_square += std::pow(count - 10'000, 2) / 10'000.0;
    EXPECT_LT(chi_square, 20.5);  // 5 degrees of freedom, p = 0.001
}

TEST(SampleNoise, BelongsToTheSampleNotToTheBatch) {
    auto const key = [](std::uint64_t id) { return sample_key(1, 2, id, RngPurpose::noise); };
    auto const whole = sample_noise({key(5), key(9), key(2)}, {3, 2, 5, 7});
    auto const alone = sample_noise({key(9)}, {3, 2, 5, 7});
    EXPECT_TRUE(at::equal(whole.select(0, 1), alone.select(0, 0)));
    EXPECT_FALSE(at::equal(whole.select(0, 0), whole.select(0, 1)));
    EXPECT_EQ(sample_noise({key(1)}, {3}).sizes(), at::IntArrayRef({1, 3}));  // odd count
}

TEST(SampleNoise, IsStandardNormal) {
    auto const noise = sample_noise({42}, {400'000}).view({-1}).to(at::kDouble);
    double const n = 400'000;
    EXPECT_NEAR(noise.mean().item<double>(), 0, 4 / std::sqrt(n));
    EXPECT_NEAR(noise.pow(2).mean().item<double>(), 1, 4 * std::sqrt(2 / n));
    EXPECT_NEAR(noise.pow(4).mean().item<double>(), 3, 4 * std::sqrt(96 / n));
    // P(|z| > 1.96) = 0.05, and no link between the two halves of Box-Muller's pairs.
    double const tail = noise.abs().gt(1.959964).to(at::kDouble).mean().item<double>();
    EXPECT_NEAR(tail, 0.05, 4 * std::sqrt(0.05 * 0.95 / n));
    auto const product = noise.narrow(0, 0, 200'000).mul(noise.narrow(0, 200'000, 200'000));
    EXPECT_NEAR(product.mean().item<double>(), 0, 4 / std::sqrt(n / 2));
}

}  // namespace
}  // namespace osora::worker
