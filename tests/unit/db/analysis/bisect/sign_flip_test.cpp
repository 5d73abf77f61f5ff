#include "db/analysis/bisect/sign_flips.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace osora::db::analysis {
namespace {

/// Swaps the trials of every subset of pairs, as the definition says.
double by_brute_force(std::vector<double> differences) {
    std::vector<double> sizes;
    for (double const each : differences) sizes.push_back(std::abs(each));
    std::ranges::sort(sizes);
    std::size_t const half = sizes.size() / 2;
    double const middle = sizes.size() % 2 ? sizes[half] : (sizes[half - 1] + sizes[half]) / 2;
    double seen = 0;
    for (double& each : differences) {
        each = std::clamp(each, -1.5 * middle, 1.5 * middle);
        seen += each;
    }
    unsigned const patterns = 1U << differences.size();
    unsigned as_large = 0;
    for (unsigned pattern = 0; pattern < patterns; ++pattern) {
        double sum = 0;
        for (std::size_t i = 0; i < differences.size(); ++i) {
            sum += (pattern >> i & 1U) ? -differences[i] : differences[i];
        }
        as_large += sum >= seen - 1e-9;
    }
    return static_cast<double>(as_large) / patterns;
}

TEST(SignFlip, SixOfSixPairsAreOneIn64) {
    EXPECT_EQ(sign_flip_p(std::vector<double>{1, 2, 3, 4, 5, 6}), 1.0 / 64);
    EXPECT_EQ(sign_flip_p(std::vector<double>{}), 1);
    EXPECT_EQ(sign_flip_p(std::vector<double>{-1, -1, -1}), 1);
    EXPECT_EQ(sign_flip_p(std::vector<double>{0, 0, 0}), 1);
}

TEST(SignFlip, OneOddRunDoesNotDecide) {
    // Alone its sum would outweigh the other five.
    EXPECT_LT(sign_flip_p(std::vector<double>{1, 1, 1, 1, 1, -50}), 0.25);
    EXPECT_GT(sign_flip_p(std::vector<double>{-1, -1, -1, 1, 1, 50}), 0.25);
}

TEST(SignFlip, EqualsBruteForce) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> draw(0.4, 1);
    for (int n = 1; n <= 13; ++n) {
        for (int repeat = 0; repeat < 8; ++repeat) {
            std::vector<double> values;
            for (int i = 0; i < n; ++i) values.push_back(draw(random));
            EXPECT_DOUBLE_EQ(sign_flip_p(values), by_brute_force(values)) << n;
        }
    }
}

// Under the null hypothesis p <= x happens with probability x at most.
TEST(SignFlip, IsExactForEquals) {
    std::mt19937_64 random(11);
    std::normal_distribution<double> draw;
    int low = 0;
    for (int repeat = 0; repeat < 20'000; ++repeat) {
        std::vector<double> values(6);
        for (double& each : values) each = draw(random);
        low += sign_flip_p(values) <= 1.0 / 64;
    }
    EXPECT_NEAR(low / 20'000.0, 1.0 / 64, 0.003);
}

}  // namespace
}  // namespace osora::db::analysis
