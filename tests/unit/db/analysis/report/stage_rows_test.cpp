// Steps of a staged run by the [[stage]] they ran in; where stages begin comes from the plan event
// in the run's journal, written here as JSON text.
#include "db/analysis/report/stage_rows.hpp"

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

}  // namespace
}  // namespace osora::db::analysis
