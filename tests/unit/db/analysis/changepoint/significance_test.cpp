// p values against SciPy 1.17's.
#include "db/analysis/changepoint/significance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace osora::db::analysis::changepoint {
namespace {

using Values = std::vector<double>;

TEST(Significance, StudentT) {
    EXPECT_NEAR(student_t_p(2.5, 7), 0.04099221858575289, 1e-14);
    EXPECT_NEAR(student_t_p(-2.5, 7), 0.04099221858575289, 1e-14);
    EXPECT_NEAR(student_t_p(40, 200) / 2.2487396535202197e-97, 1, 1e-9);
    EXPECT_EQ(student_t_p(0, 3), 1);
    EXPECT_EQ(student_t_p(std::numeric_limits<double>::infinity(), 3), 0);
    EXPECT_TRUE(std::isnan(student_t_p(std::nan(""), 3)));
}

TEST(Significance, MannWhitneyExact) {
    EXPECT_NEAR(
        mann_whitney_p(Values{1.1, 2.3, 3.7, 4.2, 5.9}, Values{2.0, 6.1, 7.2, 8.8, 9.4, 10.3}),
        0.05194805194805195, 1e-14);
    // Of the 252 orders of 5 and 5 values the two with no mixing.
    EXPECT_NEAR(mann_whitney_p(Values{1, 2, 3, 4, 5}, Values{6, 7, 8, 9, 10}), 2.0 / 252, 1e-14);
    EXPECT_EQ(mann_whitney_p(Values{1, 4}, Values{2, 3}), 1);
}

TEST(Significance, MannWhitneyWithTiesAndManyValues) {
    EXPECT_NEAR(mann_whitney_p(Values{1, 2, 2, 3, 3, 3, 4}, Values{3, 3, 4, 5, 5, 6}),
                0.02683259993623742, 1e-14);
    Values low, high;
    for (int i = 0; i < 30; ++i) low.push_back(i);
    for (int i = 0; i < 26; ++i) high.push_back(i + 10.5);
    EXPECT_NEAR(mann_whitney_p(low, high), 0.0010471367211717024, 1e-14);
    EXPECT_EQ(mann_whitney_p(Values(9, 2.0), Values(40, 2.0)), 1);
    EXPECT_TRUE(std::isnan(mann_whitney_p({}, Values{1})));
}

// Series without a change: the best of all splits seems significant far too often.
TEST(Significance, TheBestOfSeveralSplitsIsCorrected) {
    constexpr int kSeries = 400, kCount = 20, kSide = 3;
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    int plain = 0, corrected = 0;
    for (int i = 0; i < kSeries; ++i) {
        Values values;
        for (int k = 0; k < kCount; ++k) values.push_back(normal(random));
        std::span<double const> const all(values);
        double least = 1;
        for (std::size_t at = kSide; at + kSide <= kCount; ++at) {
            least = std::min(least, mann_whitney_p(all.first(at), all.subspan(at)));
        }
        plain += least <= 0.05;
        corrected += p_of_best(least, kCount - 2 * kSide + 1) <= 0.05;
    }
    EXPECT_GT(plain, 0.12 * kSeries);
    EXPECT_LE(corrected, 0.05 * kSeries);
    EXPECT_EQ(p_of_best(0.3, 4), 1);
    EXPECT_TRUE(std::isnan(p_of_best(std::nan(""), 4)));
}

}  // namespace
}  // namespace osora::db::analysis::changepoint
