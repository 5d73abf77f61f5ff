// Alarms inside a run: raised when steps slow down or the loss diverges, but not for noise.
#include "daemon/controller/step_alarm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace osora::daemon {
namespace {

using protocol::MetricChunk;
using protocol::RunNotice;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Step {
    double step_s = 1, loss = 1;
    std::string bucket = "64x64x8";
    int samples = 8;
};

MetricChunk chunk_of(int attempt, int step, Step const& is) {
    MetricChunk chunk;
    chunk.attempt = attempt;
    chunk.ranks = 2;
    chunk.step0 = step;
    chunk.bucket = {is.bucket};
    chunk.samples = {is.samples};
    chunk.columns["step_time_s"] = {{is.step_s}, {is.step_s}, {is.step_s}, {0}};
    chunk.columns["loss"] = {{is.loss}, {is.loss}, {is.loss}, {0}};
    return chunk;
}

std::vector<RunNotice> run(StepAlarm& alarm, int attempt, int from, int to,
                           std::function<Step(int)> const& step) {
    std::vector<RunNotice> got;
    for (int i = from; i < to; ++i) {
        for (auto& each : alarm.take(merged_steps_of(chunk_of(attempt, i, step(i)))))
            got.push_back(each);
    }
    return got;
}

TEST(StepAlarm, NoiseIsNoAlarm) {
    for (unsigned seed = 0; seed < 100; ++seed) {
        std::mt19937 random(seed);
        std::normal_distribution<double> noise(0, 0.05);
        std::uniform_real_distribution<double> share(0, 1);
        StepAlarm alarm;
        auto const got = run(alarm, 0, 0, 2000, [&](int step) {
            bool const spike = share(random) < 0.05;
            double const falling = 0.5 + std::exp(-step / 300.0);
            return Step{.step_s = (1 + noise(random)) * (spike ? 1.6 : 1),
                        .loss = falling * std::exp(6 * noise(random))};
        });
        EXPECT_THAT(got, IsEmpty()) << "seed " << seed << ": " << got[0].kind << " at "
                                    << got[0].step << ": " << got[0].detail;
    }
}

TEST(StepAlarm, SlowerStepsAndTheirEndAreReportedOnce) {
    StepAlarm alarm;
    auto const got = run(alarm, 0, 0, 400, [](int step) {
        return Step{.step_s = step >= 150 && step < 300 ? 1.3 : 1.0};
    });
    ASSERT_THAT(got, ElementsAre(Field(&RunNotice::kind, "throughput_sag"),
                                 Field(&RunNotice::kind, "throughput_back")));
    EXPECT_GE(got[0].step, 150);
    EXPECT_LE(got[0].step, 170) << "half of the window";
    EXPECT_THAT(got[0].detail, HasSubstr("1.30 times"));
    EXPECT_EQ(got[0].severity, "warning");
    EXPECT_GE(got[1].step, 300);
}

TEST(StepAlarm, AFewMillisecondsAreNoSag) {
    StepAlarm alarm;
    auto const got =
        run(alarm, 0, 0, 400, [](int step) { return Step{.step_s = step >= 150 ? 0.014 : 0.010}; });
    EXPECT_THAT(got, IsEmpty());
}

TEST(StepAlarm, BucketsOfOtherLengthAreNoSag) {
    StepAlarm alarm;
    auto const got = run(alarm, 0, 0, 1000, [](int step) {
        bool const large = step > 300 && step % 3 != 0;  // a mix that changes
        return Step{.step_s = large ? 4.0 : 1.0, .bucket = large ? "128x128x16" : "64x64x8"};
    });
    EXPECT_THAT(got, IsEmpty());
}

TEST(StepAlarm, ALargerBatchIsComparedPerSample) {
    StepAlarm alarm;
    EXPECT_THAT(run(alarm, 0, 0, 100, [](int) { return Step{.step_s = 1, .samples = 8}; }),
                IsEmpty());
    EXPECT_THAT(run(alarm, 1, 90, 200, [](int) { return Step{.step_s = 2, .samples = 16}; }),
                IsEmpty());
    auto const got = run(alarm, 2, 190, 300, [](int) { return Step{.step_s = 3, .samples = 16}; });
    ASSERT_THAT(got, SizeIs(1));
    EXPECT_THAT(got[0].detail, HasSubstr("1.50 times"));
    EXPECT_THAT(got[0].detail, HasSubstr("since the relaunch at step 190"));
    EXPECT_EQ(got[0].attempt, 2);
}

TEST(StepAlarm, ALossThatJumpsIsReported) {
    StepAlarm alarm;
    std::mt19937 random(1);
    std::normal_distribution<double> noise(0, 0.2);
    auto const got = run(alarm, 0, 0, 500, [&](int step) {
        return Step{.loss = (step < 300 ? 0.5 : 1.2) * std::exp(noise(random))};
    });
    ASSERT_THAT(got, SizeIs(1));
    EXPECT_EQ(got[0].kind, "loss_divergence");
    EXPECT_EQ(got[0].severity, "error");
    EXPECT_GE(got[0].step, 300);
    EXPECT_LE(got[0].step, 350);
}

TEST(StepAlarm, ALossThatIsNotANumberIsReportedAtTheThird) {
    StepAlarm alarm;
    auto const got = run(alarm, 0, 0, 200,
                         [](int step) { return Step{.loss = step >= 120 ? std::nan("") : 0.5}; });
    ASSERT_THAT(got, SizeIs(1));
    EXPECT_EQ(got[0].step, 122);
}

TEST(StepAlarm, ARehearsalHasNoLoss) {
    StepAlarm alarm({.has_loss = false});
    EXPECT_THAT(run(alarm, 0, 0, 200, [](int) { return Step{.loss = std::nan("")}; }), SizeIs(0));
}

TEST(StepAlarm, RepeatedStepsAndOtherNodesDoNotCount) {
    StepAlarm alarm;
    auto const slow = [](int) { return Step{.step_s = 9}; };
    EXPECT_THAT(run(alarm, 0, 0, 100, [](int) { return Step{}; }), IsEmpty());
    EXPECT_THAT(run(alarm, 0, 0, 100, slow), IsEmpty());
    for (int i = 100; i < 200; ++i) {
        auto chunk = chunk_of(0, i, slow(i));
        chunk.node = 1;
        EXPECT_THAT(alarm.take(merged_steps_of(chunk)), IsEmpty());
    }
}

/// Node 0 reports every step, other nodes only some of them in the same record.
TEST(StepAlarm, HowManyNodesAreInARecordDoesNotMatter) {
    StepAlarm alarm;
    std::vector<RunNotice> got;
    for (int i = 0; i < 400; ++i) {
        auto steps = merged_steps_of(chunk_of(0, i, {.step_s = i < 200 ? 1.0 : 1.3}));
        int const nodes = 1 + i % 64;
        steps.ranks[0] *= nodes;
        steps.samples[0] *= nodes;
        for (auto& each : alarm.take(steps)) got.push_back(each);
        // The others, later.
        steps.next_steps[0] = 0;
        EXPECT_THAT(alarm.take(steps), IsEmpty());
    }
    EXPECT_THAT(got, ElementsAre(Field(&RunNotice::kind, "throughput_sag")));
}

TEST(StepAlarm, HostileChunksAreNoTrouble) {
    StepAlarm alarm;
    auto chunk = chunk_of(0, 50, {});
    chunk.samples.clear();
    chunk.columns["step_time_s"].mean.clear();
    EXPECT_THAT(alarm.take(merged_steps_of(chunk)), IsEmpty());
    auto odd = merged_steps_of(chunk_of(0, 51, {}));
    odd.ranks[0] = 0;
    EXPECT_THAT(alarm.take(odd), IsEmpty());
    odd.ranks.clear();
    EXPECT_THAT(alarm.take(odd), IsEmpty());
    chunk = chunk_of(0, 51, {.step_s = HUGE_VAL, .loss = -HUGE_VAL, .samples = -1});
    EXPECT_THAT(alarm.take(merged_steps_of(chunk)), IsEmpty());
}

}  // namespace
}  // namespace osora::daemon
