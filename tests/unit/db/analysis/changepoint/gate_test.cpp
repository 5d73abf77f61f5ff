// The gate for one run, with figures worked out by hand.
#include "db/analysis/changepoint/gate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace osora::db::analysis::changepoint {
namespace {

using testing::HasSubstr;
using Values = std::vector<double>;

Values const kBefore{10, 10, 10, 10.1, 9.9, 10.1, 9.9};  // median 10, MAD about 1 %

GateState state(Values const& before, Values const& attempts, GateOptions const& options = {}) {
    return gate(before, attempts, options).value;
}

TEST(Gate, SuspectsWhatIsFarAndLarge) {
    auto const decision = gate(kBefore, Values{11});
    EXPECT_EQ(decision.value, GateState::suspect);
    EXPECT_NEAR(decision.level, 10, 1e-9);
    EXPECT_NEAR(decision.effect, 0.1, 1e-9);
    double const noise = 1.4826 * std::log(10.1 / 10);  // the middle one of 0, 0, 0, 1 %, ...
    EXPECT_NEAR(decision.z, std::log(1.1) / noise, 0.1);
    EXPECT_EQ(decision.history, 7);
    EXPECT_THAT(decision.reason, HasSubstr("10.0 % over the median of 7 runs"));
    EXPECT_EQ(state(kBefore, {10.2}), GateState::clear);
    EXPECT_EQ(state(kBefore, {9}), GateState::clear);  // faster
}

TEST(Gate, NoSeriesIsSteadierThanTheFloor) {
    Values const same(8, 10);
    EXPECT_EQ(state(same, {10.19}), GateState::clear);    // 1.9 %: below the least effect
    EXPECT_EQ(state(same, {10.31}), GateState::suspect);  // 3.1 %: 6 floors
    EXPECT_EQ(state(same, {10.31}, {.min_effect = 0.05}), GateState::clear);
    EXPECT_EQ(state(same, {10.15}, {.min_effect = 0.01}), GateState::clear);  // 3 floors
    EXPECT_NEAR(gate(same, Values{10.31}).z, std::log(1.031) / 0.005, 1e-9);
}

TEST(Gate, TwoOfTwoConfirm) {
    EXPECT_EQ(state(kBefore, {11, 11.2}), GateState::confirmed);
    EXPECT_EQ(state(kBefore, {11, 10.1}), GateState::dismissed);
    EXPECT_EQ(state(kBefore, {10, 11}), GateState::clear);  // the first was no suspect
}

TEST(Gate, SaysWhenItCannotKnow) {
    auto const few = gate(Values{10, 10, 10, 10}, Values{20});
    EXPECT_EQ(few.value, GateState::undecided);
    EXPECT_EQ(few.reason, "4 runs before it, 5 are needed");
    EXPECT_TRUE(std::isnan(few.z));
    EXPECT_EQ(state({}, {20}), GateState::undecided);
    double const nan = std::nan("");
    EXPECT_EQ(state({10, nan, 10, 10, nan, 10}, {20}), GateState::undecided);
    EXPECT_EQ(state(kBefore, {nan}), GateState::undecided);
    EXPECT_EQ(state(kBefore, {11, std::numeric_limits<double>::infinity()}), GateState::undecided);
}

TEST(Gate, DirectionAndSign) {
    GateOptions const rate{.direction = Direction::lower_is_worse};
    EXPECT_EQ(state(kBefore, {9}, rate), GateState::suspect);
    EXPECT_EQ(state(kBefore, {11}, rate), GateState::clear);
    Values const zeros(6, 0);
    EXPECT_EQ(state(zeros, {1}), GateState::suspect);
    EXPECT_EQ(gate(zeros, Values{1}).reason, "over the median of 6 runs, which is 0");
    EXPECT_EQ(state(zeros, {0}), GateState::clear);
    EXPECT_EQ(state(Values(6, -10), {-8}), GateState::suspect);
}

TEST(Gate, OnlyTheNewestRunsMakeTheLevel) {
    Values before(30, 20);
    before.insert(before.end(), 20, 10);
    EXPECT_EQ(state(before, {12}), GateState::suspect);
    EXPECT_EQ(gate(before, Values{12}).history, 20);
}

TEST(Gate, TheNewestOfASeries) {
    auto const word = [](Values const& values, int level_start = 0) {
        return gate_newest(values, level_start).value;
    };
    Values const steady(10, 10);
    auto const with = [&](Values const& more) {
        Values values = steady;
        values.insert(values.end(), more.begin(), more.end());
        return values;
    };
    EXPECT_EQ(word(with({12})), GateState::suspect);
    EXPECT_EQ(word(with({12, 12})), GateState::confirmed);
    EXPECT_EQ(word(with({12, 10})), GateState::dismissed);
    EXPECT_EQ(word(with({12, 10, 10})), GateState::clear);
    EXPECT_EQ(word({10}), GateState::undecided);
    EXPECT_EQ(word({10, 12}), GateState::undecided);
    // Six runs of the new level are enough to compare with.
    EXPECT_EQ(word(with({12, 12, 12, 12, 12, 12}), 10), GateState::clear);
    EXPECT_EQ(word(with({12, 12, 12, 12, 12, 14}), 10), GateState::suspect);
}

}  // namespace
}  // namespace osora::db::analysis::changepoint
