// What the end of a run says when it was slower than those before it.
#include "cli/trial/regression_notice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<db::analysis::SeriesRun> runs(std::vector<double> const& step_s) {
    std::vector<db::analysis::SeriesRun> made;
    for (double const each : step_s) {
        db::analysis::SeriesRun run;
        run.summary.run.number = static_cast<int>(made.size()) + 1;
        run.summary.run.name = "r";
        run.summary.measured.emplace();
        auto& measured = *run.summary.measured;
        measured.steps_used = 100;
        measured.step_s_median = measured.step_s_mix = each;
        measured.buckets.push_back({.bucket = "64x64x8",
                                    .steps = 100,
                                    .samples_per_step = 8,
                                    .step_s_median = each,
                                    .step_s_mad = 0.01});
        made.push_back(std::move(run));
    }
    return made;
}

TEST(RegressionNotice, ASlowRunIsReportedWithTheLastGoodOne) {
    auto const word = regression_notice(runs({7, 7.05, 6.98, 7.02, 7.01, 6.99, 14}), 7);
    EXPECT_EQ(word.good, 6);
    EXPECT_EQ(word.bad, 7);
    EXPECT_FALSE(word.confirmed) << "one run may be an odd one";
    EXPECT_THAT(word.text, testing::StartsWith("suspected 99.9 % over the median of 6 runs"));
    EXPECT_THAT(word.text, HasSubstr("next      osora submit --from 7\n"));
    EXPECT_THAT(word.text, HasSubstr("then      osora bisect 6 7\n"));
}

TEST(RegressionNotice, TwoOfTwoConfirm) {
    auto const word = regression_notice(runs({7, 7.05, 6.98, 7.02, 7.01, 6.99, 14, 14.1}), 8);
    EXPECT_TRUE(word.confirmed);
    EXPECT_EQ(word.good, 6);
    EXPECT_THAT(word.text, testing::StartsWith("confirmed "));
    EXPECT_THAT(word.text, HasSubstr("next      osora bisect 6 8\n"));
}

TEST(RegressionNotice, KnowsWhereTheLastStageBegins) {
    auto staged = runs({7, 7.05, 6.98, 7.02, 7.01, 6.99, 14});
    EXPECT_EQ(regression_notice(staged, 7).last_stage_step, 0);
    for (auto& each : staged) {
        each.work = {{"stage[0].at_step", "30"}, {"stage[1].at_step", "500"}};
    }
    EXPECT_EQ(regression_notice(staged, 7).last_stage_step, 500);
}

TEST(RegressionNotice, FastRunsAndShortSeriesSayNothing) {
    EXPECT_THAT(regression_notice(runs({7, 7.05, 6.98, 7.02, 7.01, 6.99, 7.03}), 7).text,
                IsEmpty());
    EXPECT_THAT(regression_notice(runs({7, 14}), 2).text, IsEmpty());
    EXPECT_THAT(regression_notice(runs({7, 7.05, 6.98, 7.02, 7.01, 6.99, 14}), 3).text, IsEmpty())
        << "not the newest";
    EXPECT_THAT(regression_notice({}, 1).text, IsEmpty());
}

std::vector<double> const kSuspect{7, 7.05, 6.98, 7.02, 7.01, 6.99, 14};

std::optional<db::analysis::Repeat> judged(std::vector<db::analysis::SeriesRun> const& all,
                                           std::vector<db::analysis::SeriesRun> const& repeats) {
    return db::analysis::judge_repeat(db::analysis::detect(db::analysis::run_groups(all).at(0)),
                                      all, repeats);
}
std::vector<db::analysis::SeriesRun> repeat_of(double step_s) {
    auto repeats = runs({step_s});
    repeats[0].summary.run.number = 12;
    return repeats;
}

db::RunNode node(std::string const& host) {
    db::RunNode node;
    node.hostname = host;
    return node;
}

TEST(RepeatOfASuspect, ASlowRepeatConfirms) {
    auto const all = runs(kSuspect);
    auto const repeat = judged(all, repeat_of(13.9));
    ASSERT_TRUE(repeat.has_value());
    EXPECT_EQ(repeat->number, 12);
    auto const word = regression_notice(regression_notice(all, 7), *repeat);
    EXPECT_TRUE(word.confirmed);
    EXPECT_THAT(word.text, testing::StartsWith("confirmed run 12 repeated it: 98.4 % over the "));
    EXPECT_THAT(word.text, HasSubstr("next      osora bisect 6 7\n"));
    auto detection = db::analysis::detect(db::analysis::run_groups(all).at(0));
    EXPECT_EQ(db::analysis::finding_of(detection), db::analysis::Finding::undecided);
    db::analysis::apply_repeat(detection, *repeat);
    EXPECT_EQ(db::analysis::finding_of(detection), db::analysis::Finding::bad);
    EXPECT_EQ(detection.repeat, 12);
    EXPECT_EQ(db::analysis::runs_to_compare(detection).good, 6);
    EXPECT_EQ(db::analysis::runs_to_compare(detection).bad, 7);
}

TEST(RepeatOfASuspect, AFastRepeatDismissesAndNamesNodesThatItDidNotSee) {
    auto all = runs(kSuspect);
    auto repeats = repeat_of(7.03);
    for (auto const* host : {"n1", "n2"}) {
        all.back().summary.nodes.push_back(node(host));
    }
    repeats[0].summary.nodes.push_back(node("n2"));
    auto const repeat = judged(all, repeats);
    ASSERT_TRUE(repeat.has_value());
    auto const word = regression_notice(regression_notice(all, 7), *repeat);
    EXPECT_FALSE(word.confirmed);
    EXPECT_EQ(word.good, 0) << "nothing to bisect";
    EXPECT_THAT(word.text, testing::StartsWith("dismissed run 12 repeated it: "));
    EXPECT_THAT(word.text, HasSubstr("nodes     it ran without n1, which may be"));
    auto detection = db::analysis::detect(db::analysis::run_groups(all).at(0));
    db::analysis::apply_repeat(detection, *repeat);
    EXPECT_EQ(db::analysis::finding_of(detection), db::analysis::Finding::good);
}

// A short repeat saw one of two buckets: it is compared with that bucket of the other runs.
TEST(RepeatOfASuspect, BucketsThatItDidNotSeeAreLeftOut) {
    auto all = runs(kSuspect);
    for (auto& run : all) {
        run.summary.measured->buckets.push_back({.bucket = "128x128x8",
                                                 .steps = 100,
                                                 .samples_per_step = 4,
                                                 .step_s_median = 30,
                                                 .step_s_mad = 0.1});
    }
    auto const repeat = judged(all, repeat_of(13.9));
    ASSERT_TRUE(repeat.has_value());
    EXPECT_EQ(repeat->decision.value, db::analysis::changepoint::GateState::confirmed);
    EXPECT_NEAR(repeat->decision.level, 7.005, 1e-4);
}

TEST(RepeatOfASuspect, WhatCannotBeComparedSaysNothing) {
    auto const all = runs(kSuspect);
    auto other_size = repeat_of(14);
    other_size[0].summary.run.ranks = 16;
    EXPECT_FALSE(judged(all, other_size).has_value());
    auto too_short = repeat_of(14);
    too_short[0].summary.measured->steps_used = 9;
    EXPECT_FALSE(judged(all, too_short).has_value());
    auto other_bucket = repeat_of(14);
    other_bucket[0].summary.measured->buckets[0].bucket = "8x8x8";
    EXPECT_FALSE(judged(all, other_bucket).has_value());
    auto other_model = repeat_of(14);
    other_model[0].work = {{"model.arch", "other"}};
    EXPECT_FALSE(judged(all, other_model).has_value());
    auto with_stage = all;
    for (auto& each : with_stage) each.work = {{"stage[0].at_step", "500"}};
    EXPECT_FALSE(judged(with_stage, repeat_of(7)).has_value()) << "it says nothing of the stage";
    auto staged = repeat_of(7);
    staged[0].work = with_stage[0].work;
    staged[0].summary.measured->next_step = 40;
    EXPECT_FALSE(judged(with_stage, staged).has_value()) << "it ended before the stage";
    staged[0].summary.measured->next_step = 520;
    EXPECT_TRUE(judged(with_stage, staged).has_value());
    EXPECT_FALSE(judged(all, {}).has_value());
    EXPECT_FALSE(judged(runs({7, 7.05, 6.98, 7.02, 7.01, 6.99, 7}), repeat_of(14)).has_value());
}

TEST(RepeatOfASuspect, ItsSeriesSaysWhatItRepeats) {
    using db::analysis::is_repeat_series;
    EXPECT_EQ(db::analysis::repeat_series("stage1", 42), "stage1-again-42");
    EXPECT_TRUE(is_repeat_series("stage1-again-42"));
    for (auto const* name : {"stage1", "-again-42", "stage1-again-", "stage1-again-4x", ""}) {
        EXPECT_FALSE(is_repeat_series(name)) << name;
    }
}

TEST(RepeatOfASuspect, ItsStepsFitTheBudget) {
    RegressionNotice const word{.text = "", .good = 6, .bad = 7, .step_s = 14, .ranks = 128};
    EXPECT_EQ(repeat_steps(70'000, word, 64), 40);
    EXPECT_EQ(repeat_steps(30, word, 64), 30);
    EXPECT_EQ(repeat_steps(5, word, 64), 15);  // ten must be left behind the warm-up
    // 12 GPU-hours on 128 ranks are 337 s; 60 go into the start.
    EXPECT_EQ(repeat_steps(70'000, word, 12), 19);
    EXPECT_EQ(repeat_steps(70'000, word, 8), 0);
    EXPECT_EQ(repeat_steps(70'000, word, 0), 0);
}

}  // namespace
}  // namespace osora::cli
