#include "worker/parallel/flight/flight_recorder.hpp"

#include "worker/parallel/step_agreement.hpp"

#include <gmock/gmock.h>

#include <thread>

namespace osora::worker {
namespace {

using namespace std::chrono_literals;
using protocol::CollectiveState;
using Time = FlightRecorder::Clock::time_point;

constexpr Time kStart{};

FlightRecorder::Call call(int channel) {
    return {.channel = channel, .operation = "all_reduce", .dtype = "Float", .bytes = 8};
}

TEST(FlightRecorder, KeepsWhatIsKnownOfACollective) {
    FlightRecorder recorder(kStart);
    int const all = recorder.add_channel("all gloo", {0, 1});
    recorder.at_step(7);
    recorder.at_micro_batch(2);
    recorder.in_phase("step");
    std::uint64_t ticket = 0;
    {
        FlightRecorder::Label const outer("outer");
        FlightRecorder::Label const label("gradients");
        ticket = recorder.started(call(all), kStart + 5ms);
    }
    EXPECT_EQ(recorder.oldest(), kStart + 5ms);
    recorder.ended(ticket, true, kStart + 6ms);
    recorder.ended(ticket, false, kStart + 9ms);  // changes nothing
    EXPECT_EQ(recorder.oldest(), std::nullopt);
    (void)recorder.started(call(all), kStart + 7ms);
    auto const dump = recorder.dump(kStart + 8ms);
    ASSERT_EQ(dump.records.size(), 2u);
    auto const& first = dump.records[0];
    EXPECT_EQ(first.label, "gradients");
    EXPECT_EQ(first.step, 7);
    EXPECT_EQ(first.micro_batch, 2);
    EXPECT_EQ(first.state, CollectiveState::finished);
    EXPECT_EQ(first.started_us, 5000);
    EXPECT_EQ(first.ended_us, 6000);
    EXPECT_EQ(dump.records[1].label, "");
    EXPECT_EQ(dump.records[1].sequence, 2);
    EXPECT_EQ(dump.channels[0].started, 2);
    EXPECT_EQ(dump.channels[0].finished, 1);
    EXPECT_EQ(dump.now_us, 8000);
}

TEST(FlightRecorder, WhatHasNotEndedOutlivesTheRing) {
    FlightRecorder recorder(kStart);
    int const all = recorder.add_channel("all gloo", {0, 1});
    auto const vote = recorder.started(call(all), kStart);
    for (int i = 0; i < 1000; ++i) recorder.ended(recorder.started(call(all)), true);
    EXPECT_EQ(recorder.oldest(), kStart);
    auto dump = recorder.dump();
    ASSERT_EQ(dump.records.size(), FlightRecorder::kRecords + 1);
    EXPECT_EQ(dump.records[0].sequence, 1);
    EXPECT_EQ(dump.records.back().sequence, 1001);
    recorder.ended(vote, true);
    dump = recorder.dump();
    EXPECT_EQ(dump.records.size(), FlightRecorder::kRecords);
    EXPECT_EQ(dump.forgotten, 1001 - static_cast<std::int64_t>(FlightRecorder::kRecords));
    for (int i = 0; i < 1000; ++i) (void)recorder.started(call(all));
    EXPECT_EQ(recorder.dump().records.size(),
              FlightRecorder::kRecords + FlightRecorder::kPendingMax);
}

TEST(FlightRecorder, ASendDoesNotCountAsWaiting) {
    FlightRecorder recorder(kStart);
    auto sending = call(recorder.add_channel("stages 0>1 gloo", {0, 1}));
    sending.one_sided = true;
    (void)recorder.started(sending);
    EXPECT_EQ(recorder.oldest(), std::nullopt);
}

TEST(FlightRecorder, ThreadsMayRecordTogether) {
    FlightRecorder recorder;
    int const all = recorder.add_channel("all gloo", {0, 1});
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                for (int k = 0; k < 5000; ++k) recorder.ended(recorder.started(call(all)), true);
            });
        for (int k = 0; k < 50; ++k) (void)recorder.dump();
    }
    EXPECT_EQ(recorder.dump().channels[0].started, 20000);
}

TEST(StepAgreement, MaximaShowWhetherAllBroughtTheSame) {
    StepTerms const terms{.step = 7, .bucket = "64x64x8", .passes = 2};
    auto const together = [&](StepTerms const& other) {
        auto maxima = numbers_of(terms);
        auto const others = numbers_of(other);
        for (std::size_t i = 0; i < maxima.size(); ++i) maxima[i] = std::max(maxima[i], others[i]);
        return agree(maxima);
    };
    EXPECT_TRUE(together(terms));
    EXPECT_FALSE(together({.step = 8, .bucket = "64x64x8", .passes = 2}));
    EXPECT_FALSE(together({.step = 7, .bucket = "64x64x4", .passes = 2}));
    EXPECT_FALSE(together({.step = 7, .bucket = "64x64x8", .passes = 1}));
    EXPECT_EQ(unpacked(packed(terms)), terms);
    StepTerms const longer{.step = -1, .bucket = std::string(100, 'x'), .passes = 0};
    EXPECT_EQ(unpacked(packed(longer)).bucket, std::string(kTermBytes - 9, 'x'));
}

TEST(StepAgreement, EachSideIsNamed) {
    StepTerms const most{.step = 7, .bucket = "64x64x8", .passes = 2};
    StepTerms other = most;
    other.bucket = "96x64x4";
    other.passes = 1;
    EXPECT_EQ(describe_terms({most, most, other, most}),
              "ranks do not agree on the step: ranks 0-1, 3 do step 7 with bucket 64x64x8 in 2 "
              "passes; rank 2 does step 7 with bucket 96x64x4 in 1 pass");
}

}  // namespace
}  // namespace osora::worker
