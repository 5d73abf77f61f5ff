#include "base/text/seconds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace osora {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Seconds, AreClampedToTheAllowedRange) {
    for (double const good : {0.5, 1.0, 3600.0}) EXPECT_EQ(seconds_within(good, 0.1, 3600), good);
    for (double const low : {std::nan(""), -kInf, -1e300, -1.0, 0.0}) {
        EXPECT_EQ(seconds_within(low, 0.1, 3600), 0.1) << low;
    }
    for (double const high : {kInf, 1e300, 3600.1}) {
        EXPECT_EQ(seconds_within(high, 0.1, 3600), 3600) << high;
    }
}

TEST(Seconds, BecomeADurationThatAClockCanHold) {
    using Nanoseconds = std::chrono::nanoseconds;
    EXPECT_EQ(duration_of<Nanoseconds>(0.25), std::chrono::milliseconds(250));
    for (double const none : {std::nan(""), -kInf, -1.0}) {
        EXPECT_EQ(duration_of<Nanoseconds>(none), Nanoseconds(0)) << none;
    }
    for (double const huge : {kInf, 1e300, 1e10}) {
        EXPECT_EQ(duration_of<Nanoseconds>(huge), std::chrono::seconds(1'000'000'000)) << huge;
    }
}

}  // namespace
}  // namespace osora
