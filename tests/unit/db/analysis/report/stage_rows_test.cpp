// Steps of a staged run by the [[stage]] they ran in; where stages begin comes from the plan event
// in the run's journal, written here as JSON text.
#include "db/analysis/report/stage_rows.hpp"

#include "db/analysis/report/run_report.hpp"
#include "protocol/journal/run_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::db::analysis {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

constexpr auto kPlan = R"({"plan": {"schema": "osora.plan/1", "chosen": {"zero_stage": 0},
    "predicted": {"step_time_s": 0.5, "compute_s": 0.4},
    "stages": [{"at_step": 60, "predicted": {"step_time_s": 2.5}},
               {"at_step": 90, "predicted": {"step_time_s": 0}},
               {"at_step": 500, "predicted": {"step_time_s": 9}}]}})";

std::vector<EventRecord> events(std::string body) {
    EventRecord event;
    event.kind = protocol::PlanChosen::kType;
    event.body = std::move(body);
    return {event};
}

/// Steps 0..99, 20 of them warm-up: 1 s in bucket 0; from step 60 on 2 s in bucket 0 and 3 s in
/// bucket 1 by turns; from step 90 on 4 s.
StepTable steps() {
    StepTable table;
    table.buckets = {"64x64x1", "64x64x8"};
    auto& times = table.columns["step_time_s"];
    for (int step = 0; step < 100; ++step) {
        int const bucket = step >= 60 && step < 90 ? step % 2 : 0;
        double const seconds = step < 60 ? 1 : step < 90 ? 2 + bucket : 4;
        table.step.push_back(step);
        for (auto* column : {&table.attempt, &table.repeated}) column->push_back(0);
        table.ranks.push_back(4);
        table.samples.push_back(8);
        table.bucket.push_back(bucket);
        for (auto* column : {&times.mean, &times.min, &times.max}) column->push_back(seconds);
        times.argmax.push_back(0);
    }
    return table;
}

TEST(StageRows, AreThoseOfThePlanWithTheirOwnSteps) {
    auto const rows = stage_rows(events(kPlan), steps());
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_THAT(rows,
                ElementsAre(Field(&StageRow::first_step, 0), Field(&StageRow::first_step, 60),
                            Field(&StageRow::first_step, 90), Field(&StageRow::first_step, 500)));
    EXPECT_THAT(rows, ElementsAre(Field(&StageRow::steps, 60), Field(&StageRow::steps, 30),
                                  Field(&StageRow::steps, 10), Field(&StageRow::steps, 0)));
    EXPECT_EQ(rows[0].steps_used, 40);
    EXPECT_DOUBLE_EQ(rows[0].step_s_median, 1);
    EXPECT_DOUBLE_EQ(rows[0].predicted_s, 0.5);
    EXPECT_DOUBLE_EQ(rows[1].step_s_median, 2.5);
    EXPECT_DOUBLE_EQ(rows[1].predicted_s, 2.5);
    ASSERT_EQ(rows[1].buckets.size(), 2u);
    EXPECT_EQ(rows[1].buckets[1].bucket, "64x64x8");
    EXPECT_EQ(rows[1].buckets[1].steps, 15);
    EXPECT_DOUBLE_EQ(rows[1].buckets[1].step_s_median, 3);
    EXPECT_TRUE(std::isnan(rows[2].predicted_s)) << "0: it was not predicted";
    EXPECT_TRUE(std::isnan(rows[3].step_s_median)) << "not reached";
    EXPECT_THAT(rows[3].buckets, IsEmpty());
}

TEST(StageRows, NoneWithoutStagesOrWithAPlanThatCannotBeRead) {
    EXPECT_THAT(stage_rows({}, steps()), IsEmpty());
    EXPECT_THAT(stage_rows(events(R"({"plan": {"predicted": {"step_time_s": 1}}})"), steps()),
                IsEmpty());
    EXPECT_THAT(stage_rows(events("{"), steps()), IsEmpty());
    EXPECT_EQ(stage_rows(events(kPlan), {}).size(), 4u);
}

constexpr auto kFullPlan = R"({"plan": {"schema": "osora.plan/1",
    "predicted": {"step_time_s": 1, "samples_per_s": 8, "peak_memory_gib": 10},
    "stages": [
      {"at_step": 60, "chosen": {"buckets": [
         {"height": 64, "width": 64, "num_frames": 1, "gflop_per_sample": 1, "step_time_s": 2},
         {"height": 64, "width": 64, "num_frames": 8, "gflop_per_sample": 8, "step_time_s": 3}]},
       "predicted": {"step_time_s": 2.5, "samples_per_s": 6.4, "peak_memory_gib": 20}},
      {"at_step": 90, "chosen": {"buckets": [
         {"height": 64, "width": 64, "num_frames": 1, "gflop_per_sample": 1, "step_time_s": 4}]},
       "predicted": {"step_time_s": 4, "samples_per_s": 8, "peak_memory_gib": 15}}]}})";

/// steps(), with 8, 16 and 32 samples a step in the three stages.
RunHistory staged_run() {
    RunHistory history;
    history.events = events(kFullPlan);
    history.steps = steps();
    for (std::size_t i = 60; i < 100; ++i) history.steps.samples[i] = i < 90 ? 16 : 32;
    history.summary.run.job = "train";
    auto& plan = history.summary.plan.emplace();
    db::PlannedBucket bucket;
    bucket.height = bucket.width = 64;
    bucket.gflop_per_sample = 1;
    plan.chosen.buckets = {bucket};
    plan.predicted.step_time_s = 1;
    plan.predicted.step_time_error = 0.1;
    plan.predicted.compute_s = 0.9;
    return history;
}

// Used: 40 steps of 1 s, 15 of 2 s, 15 of 3 s, 10 of 4 s, as each stage's plan expected: 155 s.
TEST(StagedRun, IsComparedWithThePlansOfItsStages) {
    auto const report = run_report(staged_run(), {});
    EXPECT_NEAR(report.step_s.measured, 155.0 / 80, 1e-12);
    EXPECT_NEAR(report.step_s.predicted, 155.0 / 80, 1e-12);
    EXPECT_FALSE(report.outside_expected) << "1 s, the first stage's, is far off";
    double const samples = 40 * 8 + 30 * 16 + 10 * 32;
    EXPECT_NEAR(report.samples_per_s.measured, samples / 155, 1e-12);
    EXPECT_NEAR(report.samples_per_s.predicted, samples / 155, 1e-12);
    EXPECT_EQ(report.memory_gib.predicted, 20);
    for (auto const& phase : report.phases) {
        EXPECT_TRUE(phase.name == "step" || std::isnan(phase.predicted_s)) << phase.name;
    }
}

// 880 samples of 1 GFLOP and 240 of 8; the run's own plan has no bucket of 8 frames.
TEST(StagedRun, CountsTheWorkOfBucketsThatOnlyALaterStageHas) {
    auto const report = run_report(staged_run(), {});
    EXPECT_NEAR(report.work.flop_per_s, (880 + 240 * 8) * 1e9 / 155, 1);
    ASSERT_EQ(report.buckets.size(), 2u);
    EXPECT_EQ(report.buckets[1].measured.bucket, "64x64x8");
    EXPECT_EQ(report.buckets[1].step_s.predicted, 3);
    EXPECT_NEAR(report.buckets[0].samples_per_s, 880.0 / (40 * 1 + 15 * 2 + 10 * 4), 1e-12);
    EXPECT_TRUE(std::isnan(report.buckets[0].step_s.predicted)) << "2 s or 4 s";
}

// Attention grows with the square of the tokens: nine times the pixels are more than nine times
// the work.
TEST(StagedRun, DoesNotExtrapolateTheWorkOfAShape) {
    auto history = staged_run();
    history.steps.buckets = {"64x64x1", "192x192x8"};
    EXPECT_TRUE(std::isnan(run_report(history, {}).work.flop_per_s));
}

TEST(StagedRun, InItsFirstStageIsComparedWithThePlan) {
    auto history = staged_run();
    for (auto& step : history.steps.step) step %= 60;  // all before the first [[stage]]
    auto const report = run_report(history, {});
    EXPECT_EQ(report.step_s.predicted, 1);
    EXPECT_TRUE(report.outside_expected);
}

}  // namespace
}  // namespace osora::db::analysis
