#include "base/text/nearest.hpp"

#include <gtest/gtest.h>

#include <array>

namespace osora {
namespace {

TEST(Nearest, DistancesOfKnownPairs) {
    // kitten -> sitting is Levenshtein's textbook pair; the others count one edit of each kind.
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
    EXPECT_EQ(edit_distance("submit", "sumbit"), 1);
    EXPECT_EQ(edit_distance("recompte", "recompute"), 1);
    EXPECT_EQ(edit_distance("", "abc"), 3);
    EXPECT_EQ(edit_distance("abc", ""), 3);
    EXPECT_EQ(edit_distance("same", "same"), 0);
}

TEST(Nearest, PicksTheNearestAndNothingThatIsFar) {
    constexpr std::array<std::string_view, 4> kNames{"status", "submit", "resume", "report"};
    EXPECT_EQ(nearest_name("sumbit", kNames), "submit");
    EXPECT_EQ(nearest_name("STATUS", kNames), "status");
    EXPECT_EQ(nearest_name("repot", kNames), "report");
    EXPECT_EQ(nearest_name("stat", kNames), "status");
    EXPECT_EQ(nearest_name("submitting", kNames), "submit");
    EXPECT_EQ(nearest_name("frobnicate", kNames), std::nullopt);
    EXPECT_EQ(nearest_name("", kNames), std::nullopt);
    EXPECT_EQ(nearest_name(std::string(100'000, 's'), kNames), std::nullopt);
}

}  // namespace
}  // namespace osora
