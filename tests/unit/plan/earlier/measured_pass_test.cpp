#include "plan/earlier/measured_pass.hpp"

#include "tests/unit/plan/requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace osora::plan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

StepQuery tiny_pass() {
    return {.shape = model_shape("stdit3-tiny").value(),
            .bucket = {64, 64, 8},
            .micro_batch_size = 4,
            .cores = 2};
}

/// Of the same sizes, `factor` times as long as predicted.
MeasuredPass taken(StepQuery const& query, double factor) {
    StepTime const predicted = step_time(query, nominal_cpu());
    return {.run = 7,
            .height = query.bucket.height,
            .width = query.bucket.width,
            .num_frames = query.bucket.num_frames,
            .micro_batch_size = query.micro_batch_size,
            .threads = query.threads,
            .cores = query.cores,
            .recompute = query.activations.recompute,
            .pass_s = factor * predicted.compute_s,
            .optimizer_s = factor * predicted.optimizer_s};
}

TEST(PassCorrection, PredictsARunThatWasMeasured) {
    StepQuery query = tiny_pass();
    StepTime const before = step_time(query, nominal_cpu());
    PassCorrection const known({taken(query, 1.4)}, query, nominal_cpu());
    query.measured = &known;
    StepTime const after = step_time(query, nominal_cpu());
    EXPECT_NEAR(after.compute_s / before.compute_s, 1.4, 0.01);
    EXPECT_NEAR(after.optimizer_s / before.optimizer_s, 1.4, 0.01);
    EXPECT_EQ(known.nearest_run(query), 7);
}

TEST(PassCorrection, CountsLessFarAway) {
    StepQuery const here = tiny_pass();
    PassCorrection const known({taken(here, 1.2)}, here, nominal_cpu());
    double before = known.factors(here).pass;
    EXPECT_NEAR(before, 1.2, 0.02);
    for (int const samples : {16, 256, 65536}) {
        StepQuery far = here;
        far.micro_batch_size = samples;
        far.activations.recompute = "full";
        double const now = known.factors(far).pass;
        EXPECT_LT(now, before) << samples;
        EXPECT_GT(now, 1) << samples;
        before = now;
    }
    EXPECT_LT(before, 1.05);
}

TEST(PassCorrection, RunsOnSharedCoresWereSlowerForThat) {
    StepQuery crowded = tiny_pass();
    crowded.dp_size = 4;  // four threads on two cores
    MeasuredPass run = taken(crowded, 1);
    run.ranks = 4;
    PassCorrection const known({run}, tiny_pass(), nominal_cpu());
    EXPECT_NEAR(known.factors(tiny_pass()).pass, 1, 1e-9);
}

TEST(PassCorrection, NonsenseIsIgnored) {
    StepQuery const query = tiny_pass();
    std::vector<MeasuredPass> bad(6, taken(query, 2));
    bad[0].pass_s = 0;
    bad[1].pass_s = std::numeric_limits<double>::quiet_NaN();
    bad[2].micro_batch_size = 0;
    bad[3].height = -1;
    bad[4].threads = 0;
    bad[5].pass_s = std::numeric_limits<double>::infinity();
    PassCorrection const known(bad, query, nominal_cpu());
    EXPECT_EQ(known.factors(query).pass, 1);
    EXPECT_EQ(known.nearest_run(query), 0);
    MeasuredPass wild = taken(query, 1e9);
    EXPECT_LE(PassCorrection({wild}, query, nominal_cpu()).factors(query).pass, std::exp(3.01));
}

TEST(PassCorrection, ThePlanNamesTheRun) {
    PlanRequest r = request(1);
    PlanDecision const before = plan_of(r);
    BucketPlan const& bucket = before.chosen.buckets.front();
    StepQuery query = tiny_pass();
    query.bucket = {bucket.height, bucket.width, bucket.num_frames};
    query.micro_batch_size = bucket.micro_batch_size;
    query.threads = before.chosen.threads_per_rank;
    MeasuredPass run = taken(query, 1);
    run.pass_s = 1.5 * bucket.compute_s / bucket.grad_accum_steps;
    r.measured_passes = {run};
    PlanDecision const after = plan_of(r);
    EXPECT_GT(after.chosen.buckets.front().compute_s, 1.3 * bucket.compute_s);
    EXPECT_THAT(after.reasons, Contains(HasSubstr("as in run 7")));
}

}  // namespace
}  // namespace osora::plan
