// The stated error covers what runs that come later have, whatever the true spread is.
#include "plan/earlier/stated_error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace osora::plan {
namespace {

TEST(StatedError, IsThePriorWithoutRuns) {
    EXPECT_DOUBLE_EQ(stated_error(0.3, {}), 0.3);
    std::vector<double> const unknown{std::numeric_limits<double>::quiet_NaN()};
    EXPECT_DOUBLE_EQ(stated_error(0.3, unknown), 0.3);
}

TEST(StatedError, FollowsTheRuns) {
    std::vector<double> const exact(20, 0.02);
    EXPECT_LT(stated_error(0.6, exact), 0.25);
    EXPECT_GT(stated_error(0.6, exact), 0.02);
    std::vector<double> const poor(20, 0.5);
    EXPECT_GT(stated_error(0.15, poor), 0.5);
    std::vector<double> more(5, 0.02);
    double before = stated_error(0.6, more);
    for (int i = 0; i < 20; ++i) {
        more.push_back(0.02);
        EXPECT_LT(stated_error(0.6, more), before);
        before = stated_error(0.6, more);
    }
    std::vector<double> const absurd{1e9};
    EXPECT_LT(stated_error(0.15, absurd), 1) << "one run that went wrong";
}

// Runs with normal errors of a spread that the prior does not know; the share of the next runs
// within what is stated.
TEST(StatedError, CoversFourOfFiveRunsThatFollow) {
    std::mt19937 random(7);
    for (double const spread : {0.03, 0.08, 0.2}) {
        for (int const known : {4, 8, 20}) {
            std::normal_distribution<double> error(0, spread);
            int covered = 0, next_runs = 0;
            for (int history = 0; history < 400; ++history) {
                std::vector<double> errors;
                for (int i = 0; i < known; ++i) errors.push_back(std::abs(error(random)));
                double const stated = stated_error(0.3, errors);
                for (int i = 0; i < 5; ++i, ++next_runs)
                    covered += std::abs(error(random)) <= stated ? 1 : 0;
            }
            EXPECT_GE(covered, 0.78 * next_runs) << spread << " after " << known;
        }
    }
}

}  // namespace
}  // namespace osora::plan
