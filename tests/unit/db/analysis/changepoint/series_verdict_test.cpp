#include "db/analysis/changepoint/series_verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::db::analysis::changepoint {
namespace {

using testing::HasSubstr;
using Values = std::vector<double>;

Values levels(std::vector<std::pair<int, double>> const& parts) {
    Values values;
    for (auto const& [count, level] : parts) {
        for (int i = 0; i < count; ++i) values.push_back(level * (1 + 0.004 * (i % 3 - 1)));
    }
    return values;
}

SeriesVerdict verdict(Values const& values, Direction direction = Direction::higher_is_worse) {
    return series_verdict(values, robust_change_points(values), direction);
}

TEST(SeriesVerdictTest, NamesTheNewestChange) {
    EXPECT_EQ(verdict(levels({{20, 7}})).value, SeriesState::steady);
    auto const worse = verdict(levels({{20, 7}, {20, 8}}));
    EXPECT_EQ(worse.value, SeriesState::regressed);
    EXPECT_EQ(worse.point, 0u);
    EXPECT_THAT(worse.reason, HasSubstr("14.3 % worse"));
    EXPECT_EQ(verdict(levels({{20, 8}, {20, 7}})).value, SeriesState::improved);
    EXPECT_EQ(verdict(levels({{20, 7}, {20, 8}}), Direction::lower_is_worse).value,
              SeriesState::improved);
    EXPECT_EQ(verdict(levels({{20, 8}, {20, 7}}), Direction::lower_is_worse).value,
              SeriesState::regressed);
}

TEST(SeriesVerdictTest, ARegressionThatWentAwayIsFixed) {
    auto const fixed = verdict(levels({{20, 7}, {10, 9}, {10, 7}}));
    EXPECT_EQ(fixed.value, SeriesState::fixed);
    EXPECT_EQ(fixed.point, 0u);  // what was fixed
    EXPECT_EQ(verdict(levels({{20, 7}, {10, 9}, {10, 6}})).value, SeriesState::fixed);
    auto const partly = verdict(levels({{20, 7}, {10, 9}, {10, 8}}));
    EXPECT_EQ(partly.value, SeriesState::improved);
    EXPECT_THAT(partly.reason, HasSubstr("still 14.3 % worse than before index 20"));
}

// Three runs at the old level count before a detector makes a level of them.
TEST(SeriesVerdictTest, ThreeRunsAtTheOldLevelAreBack) {
    Values values = levels({{20, 7}, {10, 9}});
    Segmentation slow;
    slow.points = {{.index = 20, .before = 7, .after = 9}};
    slow.noise = 0.01;
    values.insert(values.end(), {7.05, 7.0});
    EXPECT_EQ(series_verdict(values, slow).value, SeriesState::regressed);
    values.push_back(6.9);
    EXPECT_EQ(series_verdict(values, slow).value, SeriesState::fixed);
}

TEST(SeriesVerdictTest, FewValuesSayNothing) {
    auto const few = verdict({7, 7, 7, 9, 9});
    EXPECT_EQ(few.value, SeriesState::undecided);
    EXPECT_EQ(few.reason, "5 values, 6 are needed");
}

}  // namespace
}  // namespace osora::db::analysis::changepoint
