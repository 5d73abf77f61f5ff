// Where a window ends, and that its figures cover only its own steps.
#include "db/analysis/report/run_windows.hpp"

#include "db/analysis/measure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::db::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

struct Row {
    int attempt = 0, bucket = 0, ranks = 4, samples = 8;
    double step_s = 1;
};

StepTable table(std::vector<Row> const& rows) {
    StepTable steps;
    steps.buckets = {"64x64x1", "64x64x8", "64x64x1+64x64x8"};
    auto& times = steps.columns["step_time_s"];
    for (std::size_t i = 0; i < rows.size(); ++i) {
        steps.step.push_back(static_cast<int>(i));
        steps.attempt.push_back(rows[i].attempt);
        steps.ranks.push_back(rows[i].ranks);
        steps.samples.push_back(rows[i].samples);
        steps.repeated.push_back(0);
        steps.bucket.push_back(rows[i].bucket);
        for (auto* column : {&times.mean, &times.min, &times.max}) {
            column->push_back(rows[i].step_s);
        }
        times.argmax.push_back(0);
    }
    return steps;
}

std::vector<std::pair<int, int>> extents(StepTable const& steps) {
    std::vector<std::pair<int, int>> extents;
    for (auto const& window : run_windows(steps)) {
        extents.emplace_back(window.first_step, window.last_step);
    }
    return extents;
}

TEST(RunWindows, OneWithoutChangesHasTheFiguresOfTheRun) {
    std::vector<Row> rows(100);
    for (int i = 0; i < 100; ++i) {
        rows[static_cast<std::size_t>(i)].bucket = i % 3 == 0 ? 0 : 1;
        rows[static_cast<std::size_t>(i)].samples = i % 3 == 0 ? 16 : 4;
        rows[static_cast<std::size_t>(i)].step_s = (i % 3 == 0 ? 0.3 : 0.5) + 1e-4 * (i % 7);
    }
    auto const steps = table(rows);
    auto const windows = run_windows(steps);
    ASSERT_EQ(windows.size(), 1u);
    auto const whole = measure(steps);
    EXPECT_EQ(windows[0].steps, 100);
    EXPECT_EQ(windows[0].steps_used, whole.steps_used);
    EXPECT_EQ(windows[0].step_s_median, whole.step_s_median);
    EXPECT_EQ(windows[0].step_s_mad, whole.step_s_mad);
    EXPECT_DOUBLE_EQ(windows[0].samples_per_s, whole.samples_per_s);
    EXPECT_THAT(windows[0].buckets, ElementsAre(Pair("64x64x1", 34), Pair("64x64x8", 66)));
}

TEST(RunWindows, EndsWhereRanksAreLaunchedAgain) {
    std::vector<Row> rows(40);
    for (std::size_t i = 25; i < 40; ++i) rows[i] = {.attempt = 2, .ranks = 8, .step_s = 3};
    auto const windows = run_windows(table(rows));
    ASSERT_EQ(windows.size(), 2u);
    EXPECT_EQ(windows[0].last_step, 24);
    EXPECT_EQ(windows[0].ranks, 4);
    EXPECT_EQ(windows[0].step_s_median, 1);
    EXPECT_EQ(windows[1].attempt, 2);
    EXPECT_EQ(windows[1].ranks, 8);
    EXPECT_EQ(windows[1].step_s_median, 3);
}

TEST(RunWindows, EndsWhereTheBatchChangesOnceForAllBuckets) {
    std::vector<Row> rows(60);
    for (int i = 0; i < 60; ++i) {
        auto& row = rows[static_cast<std::size_t>(i)];
        row.bucket = i % 2;
        row.samples = (i < 30 ? 8 : 16) * (1 + i % 2);
    }
    EXPECT_THAT(extents(table(rows)), ElementsAre(Pair(0, 29), Pair(30, 59)));
}

TEST(RunWindows, StepsOfWhichARankIsMissingChangeNoBatch) {
    std::vector<Row> rows(40);
    rows[30] = {.ranks = 3, .samples = 6};
    for (std::size_t i = 10; i < 20; ++i) rows[i] = {.bucket = 2, .samples = static_cast<int>(i)};
    EXPECT_THAT(extents(table(rows)), ElementsAre(Pair(0, 39)));
}

TEST(RunWindows, ABatchThatVariesByItselfEndsNone) {
    std::vector<Row> rows(60);
    for (int i = 0; i < 60; ++i) rows[static_cast<std::size_t>(i)].samples = 8 + i % 5;
    EXPECT_THAT(extents(table(rows)), ElementsAre(Pair(0, 59)));
}

TEST(RunWindows, StepsThatWereUndoneCountNowhere) {
    std::vector<Row> rows(40);
    for (std::size_t i = 10; i < 20; ++i)
        rows[i].attempt = 1;  // then 20..39 of attempt 0: given up
    EXPECT_THAT(extents(table(rows)), ElementsAre(Pair(0, 9), Pair(10, 19)));
    EXPECT_THAT(run_windows({}), IsEmpty());
    auto untimed = table(std::vector<Row>(20));
    untimed.columns.clear();
    EXPECT_TRUE(std::isnan(run_windows(untimed).at(0).step_s_median));
}

}  // namespace
}  // namespace osora::db::analysis
