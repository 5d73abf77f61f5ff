#include "plan/job_stage.hpp"

#include <gtest/gtest.h>

namespace osora::plan {
namespace {

WorkerJob job() {
    WorkerJob made;
    made.config.train.steps = 100;
    made.plan.chosen.num_workers = 1;
    for (int at : {30, 50, 80}) {
        JobStage stage{at, at != 50, made.config};
        stage.config.optim.lr = at;
        made.stages.push_back(stage);
        StagePlan plan;
        plan.at_step = at;
        plan.chosen.num_workers = at;
        made.plan.stages.push_back(plan);
    }
    return made;
}

TEST(JobStage, EachStepHasOne) {
    WorkerJob const made = job();
    struct Row {
        int step;
        std::size_t index;
        StepSpan steps, rate;
    };
    for (Row const& row : {Row{0, 0, {0, 30}, {0, 30}}, Row{29, 0, {0, 30}, {0, 30}},
                           Row{30, 1, {30, 50}, {30, 80}}, Row{49, 1, {30, 50}, {30, 80}},
                           Row{50, 2, {50, 80}, {30, 80}}, Row{79, 2, {50, 80}, {30, 80}},
                           Row{80, 3, {80, 100}, {80, 100}}, Row{99, 3, {80, 100}, {80, 100}}}) {
        StageOfStep const found = stage_at(made, row.step);
        EXPECT_EQ(found.index, row.index) << row.step;
        EXPECT_EQ(found.steps, row.steps) << row.step;
        EXPECT_EQ(found.rate, row.rate) << row.step;
    }
    WorkerJob plain = made;
    plain.stages.clear();
    EXPECT_EQ(stage_at(plain, 40).steps, (StepSpan{0, 100}));
    EXPECT_EQ(stage_at(plain, 40).rate, (StepSpan{0, 100}));
}

TEST(JobStage, AStageIsASeparateJob) {
    WorkerJob const made = job();
    EXPECT_EQ(job_of_stage(made, 0).plan.chosen.num_workers, 1);
    WorkerJob const second = job_of_stage(made, 2);
    EXPECT_EQ(second.config.optim.lr, 50);
    EXPECT_EQ(second.plan.chosen.num_workers, 50);
    EXPECT_TRUE(second.stages.empty());
}

}  // namespace
}  // namespace osora::plan
