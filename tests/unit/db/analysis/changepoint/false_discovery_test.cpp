#include "db/analysis/changepoint/false_discovery.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace osora::db::analysis::changepoint {
namespace {

using testing::DoubleNear;
using testing::IsEmpty;
using testing::Pointwise;

// Benjamini and Hochberg 1995, section 3: of 15 hypotheses on thrombolysis the procedure at 0.05
// rejects the first four, where Bonferroni's rejects three.
TEST(FalseDiscovery, ThePublishedExample) {
    std::vector<double> const p{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
    auto const adjusted = adjusted_p(p);
    EXPECT_EQ(std::ranges::count_if(adjusted, [](double each) { return each <= 0.05; }), 4);
    EXPECT_NEAR(adjusted[3], 0.0095 * 15 / 4, 1e-12);
}

// R 4: p.adjust(c(0.04, 0.01, 0.03, 0.02, 0.5), "BH")
TEST(FalseDiscovery, OrderOfTheTestsDoesNotMatter) {
    EXPECT_THAT(adjusted_p(std::vector{0.04, 0.01, 0.03, 0.02, 0.5}),
                Pointwise(DoubleNear(1e-12), {0.05, 0.05, 0.05, 0.05, 0.5}));
}

TEST(FalseDiscovery, WhatIsNotKnownIsNothing) {
    double const unknown = std::numeric_limits<double>::quiet_NaN();
    EXPECT_THAT(adjusted_p(std::vector{unknown, 0.01}), Pointwise(DoubleNear(1e-12), {1.0, 0.02}));
    EXPECT_THAT(adjusted_p({}), IsEmpty());
}

}  // namespace
}  // namespace osora::db::analysis::changepoint
