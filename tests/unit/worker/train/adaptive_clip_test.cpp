#include "worker/train/adaptive_clip.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace osora::worker {
namespace {

NormHistory after(std::vector<double> const& norms, NormHistory history = {}) {
    for (double const norm : norms) history = with_norm(history, norm);
    return history;
}

TEST(AdaptiveClip, TheFirstStepsPassAndGiveMeanAndVariance) {
    auto const history = after({1, 2, 4, 5});
    EXPECT_DOUBLE_EQ(history.mean, 3);
    EXPECT_DOUBLE_EQ(history.variance, 2.5);  // 4 + 1 + 1 + 4 over 4
    EXPECT_TRUE(std::isinf(adaptive_limit(history)));
    EXPECT_TRUE(std::isfinite(adaptive_limit(after(std::vector(20, 1.0)))));
}

TEST(AdaptiveClip, FewOrdinaryStepsAreClippedAndAnOutlierAlways) {
    std::mt19937_64 draws(7);
    std::normal_distribution<double> norm(2, 0.1);
    NormHistory history;
    int clipped = 0;
    for (int i = 0; i < 5000; ++i) {
        double const next = norm(draws);
        clipped += next > adaptive_limit(history) ? 1 : 0;
        history = with_norm(history, next);
    }
    EXPECT_NEAR(history.mean, 2, 0.05);
    EXPECT_NEAR(std::sqrt(history.variance), 0.1, 0.03);
    EXPECT_LT(clipped, 50) << "three deviations leave out 1 in 740";
    double const limit = adaptive_limit(history);
    EXPECT_LT(limit, 2.5);
    EXPECT_LT(adaptive_limit(with_norm(history, 1e6)), limit * 1.02) << "counts as its limit";
}

TEST(AdaptiveClip, ALastingRiseIsFollowed) {
    std::mt19937_64 draws(7);
    std::normal_distribution<double> norm(2, 0.1);
    NormHistory history;
    for (int i = 0; i < 500; ++i) history = with_norm(history, norm(draws));
    int steps = 0;
    while (adaptive_limit(history) < 6 && steps < 1000) {
        history = with_norm(history, 3 * norm(draws));
        ++steps;
    }
    EXPECT_LT(steps, 300);
    EXPECT_GT(steps, 10);
}

TEST(AdaptiveClip, EqualNormsPass) {
    auto const history = after(std::vector(300, 0.7));
    EXPECT_NEAR(adaptive_limit(history), 0.7, 1e-9);
    EXPECT_NEAR(with_norm(history, 0.7).mean, 0.7, 1e-12);
}

}  // namespace
}  // namespace osora::worker
