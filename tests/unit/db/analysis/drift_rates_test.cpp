// Error rates of drift detection: of healthy histories at most 5 % may name a node, and a node that
// drops is found.
#include "tests/kit/size.hpp"
#include "tests/unit/db/analysis/synthetic_probes.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace osora::tests {
namespace {

constexpr std::uint64_t kSeed = 2026;
int const kNodes = test_size("OSORA_NODES", 64);
int const kHistories = test_size("OSORA_HISTORIES", 40);

/// 5 % and three standard errors of a share over so many histories.
double false_limit(int histories) {
    return 0.05 + 3 * std::sqrt(0.05 * 0.95 / histories);
}

class EachNoise : public testing::TestWithParam<Noise> {};

TEST_P(EachNoise, HealthyHistoriesNameNoNode) {
    ProbesSpec const spec{.noise = GetParam(), .nodes = kNodes};
    EXPECT_LE(drift_rates(spec, kHistories, kSeed).with_false, false_limit(kHistories));
}

TEST_P(EachNoise, ADropIsFound) {
    for (double const drop : {0.10, 0.15, 0.30}) {
        ProbesSpec const spec{.noise = GetParam(), .nodes = kNodes, .drop = drop};
        // Noise that lasts over several probes is harder to distinguish from a drop.
        double const least = GetParam() == Noise::ar1 || GetParam() == Noise::spikes ? 0.8 : 0.95;
        auto const rates = drift_rates(spec, kHistories / 4, kSeed);
        EXPECT_GE(rates.found, least) << drop;
        EXPECT_LE(rates.with_false, false_limit(kHistories / 4)) << drop;
    }
}

INSTANTIATE_TEST_SUITE_P(Rates, EachNoise,
                         testing::Values(Noise::gauss, Noise::ar1, Noise::t3, Noise::spikes));

}  // namespace
}  // namespace osora::tests
