#include "db/analysis/measure.hpp"
#include "db/analysis/bucket_compute.hpp"

#include "base/robust.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace osora::db::analysis {
namespace {

TEST(Segmentation, MatchesNumpy) {
    // numpy.median([3,1,2]) = 2, of [4,1,3,2] = 2.5; scipy.stats.median_abs_deviation of
    // [1,1,2,2,4,6,9] = 1.0, of [1,2,3,4] = 1.0.
    EXPECT_EQ(median({3, 1, 2}), 2);
    EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
    EXPECT_EQ(median_and_mad({1, 1, 2, 2, 4, 6, 9}).median, 2);
    EXPECT_EQ(median_and_mad({1, 1, 2, 2, 4, 6, 9}).mad, 1);
    EXPECT_EQ(median_and_mad({1, 2, 3, 4}).mad, 1);
    EXPECT_EQ(median({1, NAN, 3}), 2);
    EXPECT_TRUE(std::isnan(median({})));
}

StepColumn constant(std::vector<double> values) {
    return {
        .mean = values, .min = values, .max = values, .argmax = std::vector<int>(values.size(), 0)};
}

StepTable table(int steps) {
    StepTable made;
    made.buckets = {"64x64x1", "64x64x8"};
    for (int i = 0; i < steps; ++i) {
        made.step.push_back(i);
        made.attempt.push_back(0);
        made.ranks.push_back(2);
        made.samples.push_back(8);
        made.repeated.push_back(0);
        made.bucket.push_back(1);
    }
    return made;
}

TEST(SelectSteps, DropsTheWarmUpOfEachAttempt) {
    EXPECT_EQ(select_steps(table(300)).warmup, 20);
    EXPECT_EQ(select_steps(table(300)).used.size(), 280u);
    EXPECT_EQ(select_steps(table(50)).warmup, 10);
    EXPECT_EQ(select_steps(table(4)).warmup, 1);
    EXPECT_EQ(select_steps(table(1)).used.size(), 1u);
    EXPECT_EQ(select_steps(table(0)).used.size(), 0u);
}

// Attempt 0 did steps 0..9; attempt 1 went on at 5, reached 7 and ended.
TEST(SelectSteps, LeavesOutStepsOfAnAttemptThatWasGivenUp) {
    auto steps = table(10);
    for (int i = 5; i < 8; ++i) steps.attempt[static_cast<std::size_t>(i)] = 1;
    auto const selection = select_steps(steps);
    EXPECT_EQ(selection.kept, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(selection.undone, 2);
    EXPECT_EQ(selection.warmup, 2);  // one of five, one of three
    EXPECT_EQ(measure(steps).next_step, 8);
}

TEST(SelectSteps, LeavesOutStepsThatSomeRanksDidNotReport) {
    auto steps = table(10);
    steps.ranks[7] = 1;
    auto const selection = select_steps(steps);
    EXPECT_EQ(selection.incomplete, 1);
    EXPECT_EQ(selection.used, (std::vector<std::size_t>{2, 3, 4, 5, 6, 8, 9}));
}

TEST(Measure, WeighsBucketsWithTheirSteps) {
    auto steps = table(10);
    steps.columns["step_time_s"] =
        constant({9, 9, 1.0, 1.2, 1.1, 3.0, 3.2, 3.4, 3.2, 100});  // two warm up, one stalls
    for (std::size_t i = 2; i < 5; ++i) {
        steps.bucket[i] = 0;
        steps.samples[i] = 32;
    }
    auto const measured = measure(steps);
    EXPECT_EQ(measured.steps_used, 8);
    // python: median([1,1.2,1.1,3,3.2,3.4,3.2,100]) = 3.1; MAD 1.095 +- ; see below
    EXPECT_DOUBLE_EQ(measured.step_s_median, 3.1);
    ASSERT_EQ(measured.buckets.size(), 2u);
    EXPECT_DOUBLE_EQ(measured.buckets[0].step_s_median, 1.1);
    EXPECT_DOUBLE_EQ(measured.buckets[1].step_s_median, 3.2);
    EXPECT_NEAR(measured.step_s_mix, (3 * 1.1 + 5 * 3.2) / 8, 1e-12);
    EXPECT_NEAR(measured.samples_per_s, (3 * 32 + 5 * 8) / (3 * 1.1 + 5 * 3.2), 1e-12);
}

// 60 steps of 8 samples in 1 s, then a [[stage]]: 40 steps of 32 samples in 4 s. 1,760 samples in
// 220 s; the median of all 100 steps, 1 s, would make it 17.6 samples/s.
TEST(Measure, TakesTheStepsOfEachBatchAtTheirOwnMedian) {
    auto steps = table(120);
    std::vector<double> seconds(120, 1.0);
    for (std::size_t i = 80; i < 120; ++i) {
        steps.samples[i] = 32;
        seconds[i] = 4;
    }
    seconds[100] = 400;  // a step that stalls moves neither median
    steps.columns["step_time_s"] = constant(seconds);
    auto const measured = measure(steps);
    EXPECT_EQ(measured.steps_used, 100);
    EXPECT_NEAR(measured.samples_per_s, 8, 1e-12);
    EXPECT_NEAR(measured.step_s_mix, 2.2, 1e-12);
}

TEST(Measure, SamplesThatDifferByThemselvesHaveOneMedian) {
    auto steps = table(120);
    std::vector<double> seconds(120, 1.0);
    for (std::size_t i = 0; i < 120; ++i) steps.samples[i] = static_cast<int>(i);
    seconds[100] = 400;
    steps.columns["step_time_s"] = constant(seconds);
    EXPECT_NEAR(measure(steps).step_s_mix, 1, 1e-12);
}

TEST(Measure, SplitsCommunicationFromWaiting) {
    auto steps = table(30);
    std::vector<double> const half(30, 0.5), tenth(30, 0.1), fifth(30, 0.2);
    steps.columns["step_time_s"] = constant(std::vector<double>(30, 1.0));
    steps.columns["data_wait_s"] = constant(tenth);
    steps.columns["exposed_comm_s"] = {
        .mean = half, .min = fifth, .max = half, .argmax = std::vector<int>(30, 1)};
    auto const measured = measure(steps);
    EXPECT_NEAR(measured.data_share, 0.1, 1e-12);
    EXPECT_NEAR(measured.comm_share, 0.2, 1e-12);
    EXPECT_NEAR(measured.wait_share, 0.3, 1e-12);
}

TEST(Measure, ComparesTheLossOfFirstAndLastSteps) {
    auto steps = table(100);
    std::vector<double> loss;
    for (int i = 0; i < 100; ++i) loss.push_back(100 - i);
    steps.columns["loss"] = constant(loss);
    auto const measured = measure(steps);
    EXPECT_EQ(measured.loss_window, 20);
    EXPECT_DOUBLE_EQ(measured.loss_first, 90.5);  // mean of 100..81
    EXPECT_DOUBLE_EQ(measured.loss_last, 10.5);   // mean of 20..1
    loss.back() = NAN;
    steps.columns["loss"] = constant(loss);
    EXPECT_TRUE(std::isnan(measure(steps).loss_last));
    steps = table(9);
    steps.columns["loss"] = constant({9, 8, 7, 6, 5, 4, 3, 2, 1});
    EXPECT_EQ(measure(steps).loss_window, 4);
    EXPECT_DOUBLE_EQ(measure(steps).loss_first, 7.5);
}

TEST(Measure, TakesTheHighestMemoryOfAnyRank) {
    auto steps = table(3);
    steps.columns["rss_bytes"] = {
        .mean = {1, 2, 3}, .min = {1, 1, 1}, .max = {5e9, 7e9, NAN}, .argmax = {0, 1, 0}};
    EXPECT_EQ(measure(steps).rss_bytes, 7'000'000'000);
    EXPECT_EQ(measure(steps).peak_allocated_bytes, 0);
}

TEST(Measure, SamplesThatAreNotCountedAreUnknown) {
    auto steps = table(10);
    steps.samples.assign(steps.size(), 0);
    steps.columns["step_time_s"] = constant(std::vector<double>(steps.size(), 0.5));
    auto const measured = measure(steps);
    EXPECT_NEAR(measured.step_s_mix, 0.5, 1e-12);
    EXPECT_TRUE(std::isnan(measured.samples_per_s));
}

TEST(Measure, OfNothingIsUnknown) {
    auto const measured = measure({});
    EXPECT_EQ(measured.steps, 0);
    EXPECT_TRUE(std::isnan(measured.step_s_median));
    EXPECT_TRUE(std::isnan(measured.samples_per_s));
}

// Nine steps of own work 1 s, one outlier, the warm-up far off: medians see neither.
TEST(BucketWork, MediansOfEachBucketAfterTheWarmUp) {
    auto steps = table(10);
    std::vector<double> forward(10, 1.0), backward(10, 2.0), optimizer(10, 0.5);
    forward[0] = forward[1] = 99;
    forward[5] = 77;
    steps.columns["forward_s"] = constant(forward);
    steps.columns["backward_s"] = constant(backward);
    ASSERT_EQ(bucket_work(steps).size(), 1u);
    EXPECT_TRUE(std::isnan(bucket_work(steps)[0].optimizer_s));
    steps.columns["optimizer_s"] = constant(optimizer);
    auto works = bucket_work(steps);
    ASSERT_EQ(works.size(), 1u);
    EXPECT_EQ(works[0].bucket, "64x64x8");
    EXPECT_EQ(works[0].steps, 8);
    EXPECT_EQ(works[0].forward_s, 1);
    EXPECT_EQ(works[0].backward_s, 2);
    EXPECT_EQ(works[0].optimizer_s, 0.5);
    EXPECT_EQ(works[0].micro_batch_size, 0);
    EXPECT_EQ(works[0].recomputed_blocks, -1);
    EXPECT_TRUE(bucket_work(table(0)).empty());
    steps.columns.erase("backward_s");
    EXPECT_TRUE(bucket_work(steps).empty());
}

// From step 10 on a stage trains twice the batch, which the run's plan says nothing of.
TEST(BucketWork, IsThatOfTheFirstBatch) {
    auto steps = table(20);
    std::vector<double> forward(20, 1.0);
    for (std::size_t i = 10; i < 20; ++i) {
        forward[i] = 2;
        steps.samples[i] = 16;
    }
    steps.columns["forward_s"] = steps.columns["backward_s"] = constant(forward);
    auto works = bucket_work(steps);
    ASSERT_EQ(works.size(), 1u);
    EXPECT_EQ(works[0].steps, 6);  // after 4 of warm-up
    EXPECT_EQ(works[0].forward_s, 1);
    // Samples that differ by themselves do not leave a handful of steps.
    for (std::size_t i = 0; i < 20; ++i) steps.samples[i] = static_cast<int>(100 + i % 7);
    works = bucket_work(steps);
    EXPECT_EQ(works.at(0).steps, 16);
}

// Passes changed after step 6: the work is that of the last ones.
TEST(BucketWork, IsThatOfTheLastPasses) {
    auto steps = table(10);
    std::vector<double> forward(10, 1.0), sizes(10, 4), blocks(10, 0);
    for (std::size_t i = 6; i < 10; ++i) {
        forward[i] = 3;
        sizes[i] = 2;
        blocks[i] = 28;
    }
    steps.columns["forward_s"] = steps.columns["backward_s"] = constant(forward);
    steps.columns["micro_batch_size"] = constant(sizes);
    steps.columns["recomputed_blocks"] = constant(blocks);
    auto const works = bucket_work(steps);
    ASSERT_EQ(works.size(), 1u);
    EXPECT_EQ(works[0].steps, 4);
    EXPECT_EQ(works[0].forward_s, 3);
    EXPECT_EQ(works[0].micro_batch_size, 2);
    EXPECT_EQ(works[0].recomputed_blocks, 28);
}

}  // namespace
}  // namespace osora::db::analysis
