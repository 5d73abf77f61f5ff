// How often the robust detector is right: the targets, on series of 100 runs with a spread of 2 %.
#include "db/analysis/changepoint/segmentation.hpp"
#include "tests/kit/size.hpp"
#include "tests/unit/db/analysis/changepoint/synthetic_series.hpp"

#include <gtest/gtest.h>

namespace osora::tests {
namespace {

constexpr std::uint64_t kSeed = 2026;
int const kSeries = test_size("OSORA_SERIES", 400);

class EachNoise : public testing::TestWithParam<Noise> {};

TEST_P(EachNoise, NoChangeIsSeldomSeenAsOne) {
    auto const all = rates({.noise = GetParam()}, detector_of("robust"), kSeries, kSeed);
    EXPECT_LE(all.with_false, 0.02);
}

TEST_P(EachNoise, TenPercentIsFound) {
    for (int const at : {20, 50, 80}) {
        SeriesSpec const spec{.noise = GetParam(), .effect = 0.10, .at = at};
        auto const all = rates(spec, detector_of("robust"), kSeries, kSeed);
        EXPECT_GE(all.found, 0.99) << at;
        EXPECT_GE(all.in_range, 0.95) << at;
    }
}

TEST_P(EachNoise, TenPercentFasterIsFound) {
    SeriesSpec const spec{.noise = GetParam(), .effect = -0.10};
    EXPECT_GE(rates(spec, detector_of("robust"), kSeries, kSeed).found, 0.99);
}

INSTANTIATE_TEST_SUITE_P(Rates, EachNoise,
                         testing::Values(Noise::gauss, Noise::ar1, Noise::t3, Noise::spikes));

TEST(Rates, FivePercentIsFoundUnderSpikes) {
    SeriesSpec const spec{.noise = Noise::spikes, .effect = 0.05};
    auto const all = rates(spec, detector_of("robust"), kSeries, kSeed);
    EXPECT_GE(all.found, 0.95);
    EXPECT_GE(all.in_range, 0.95);
}

TEST(Rates, TwoSpeedsAreNoChange) {
    EXPECT_LE(rates({.noise = Noise::modes}, detector_of("robust"), kSeries, kSeed).with_false,
              0.02);
}

TEST(Rates, FewRunsAreHardlyEverSeenAsChange) {
    for (int const count : {6, 8, 12, 20, 50}) {
        auto const all = rates({.count = count}, detector_of("robust"), kSeries, kSeed);
        EXPECT_LE(all.with_false, 0.03) << count;
    }
}

// What other detectors do, as published: Otava's test assumes independent values.
TEST(Rates, OtavaSeesChangesInCorrelatedNoise) {
    auto const all = rates({.noise = Noise::ar1}, detector_of("otava"), kSeries, kSeed);
    EXPECT_GE(all.with_false, 0.5);
}

}  // namespace
}  // namespace osora::tests
