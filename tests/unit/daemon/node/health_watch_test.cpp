#include "daemon/node/health_watch.hpp"

#include <gtest/gtest.h>

namespace osora::daemon {
namespace {

using protocol::GpuHealth;
using protocol::NodeHealth;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""min;

NodeHealth sample() {
    NodeHealth health;
    health.load = 3;
    health.memory_available_bytes = std::int64_t{100} << 30;
    health.disk_free_bytes = std::int64_t{1} << 40;
    for (int gpu = 0; gpu < 2; ++gpu) {
        GpuHealth& each = health.gpus.emplace_back();
        each.gpu = gpu;
        each.temperature_c = 60;
        each.ecc_uncorrected = 3;
    }
    return health;
}

class Watch : public testing::Test {
protected:
    /// `health` once, 10 s after the one before.
    std::optional<HealthWatch::Report> take(NodeHealth const& health) {
        return watch.take(now += 10s, health);
    }
    std::string why(NodeHealth const& health) {
        auto const reported = take(health);
        return reported ? reported->record.why : "";
    }
    /// Records in `duration` of the same sample.
    int reports_in(MonotonicTime duration, NodeHealth const& health) {
        int count = 0;
        for (MonotonicTime end = now + duration; now < end;) count += take(health) ? 1 : 0;
        return count;
    }
    void begin() {
        EXPECT_EQ(why(sample()), "regular");
        now += 2min;
    }
    MonotonicTime now{};
    HealthWatch watch{HealthWatchOptions{}};
};

TEST_F(Watch, AQuietNodeReportsSixTimesAnHour) {
    EXPECT_EQ(reports_in(10min, sample()), 1);
    EXPECT_EQ(reports_in(60min, sample()), 6);
}

TEST(HealthWatch, NodesReportAtDifferentTimes) {
    HealthWatch other({.node = 7});
    int before = 0;
    while (!other.take(++before * MonotonicTime(10s), sample())) ASSERT_LT(before, 60);
    EXPECT_EQ(before, 8);
}

TEST_F(Watch, NumbersItsRecords) {
    EXPECT_EQ(take(sample())->record.number, 0);
    auto health = sample();
    health.gpus[1].xids = {79};
    EXPECT_EQ(take(health)->record.number, 1);
    EXPECT_EQ(take(health)->record.node, 0);
}

TEST_F(Watch, AnXidIsAnAlarmAtOnce) {
    take(sample());
    auto health = sample();
    health.gpus[1].xids = {79, 31};
    auto const reported = take(health);
    ASSERT_TRUE(reported);
    EXPECT_EQ(reported->alarm, "GPU 1: Xid 79; GPU 1: Xid 31");
    EXPECT_EQ(reported->fault, "GPU 1: Xid 79") << "31 is a page fault, mostly of the program";
    EXPECT_EQ(reported->record.why, reported->alarm);
    EXPECT_FALSE(take(sample()));
}

TEST_F(Watch, NewMemoryErrorsAreAnAlarmOldOnesAreNot) {
    EXPECT_EQ(take(sample())->alarm, "");
    auto health = sample();
    health.gpus[0].ecc_uncorrected = 5;
    auto const reported = take(health);
    EXPECT_EQ(reported->alarm, "GPU 0: 2 uncorrected memory errors");
    EXPECT_EQ(reported->fault, reported->alarm);
    EXPECT_FALSE(take(health));
}

TEST_F(Watch, AMissingGpuIsReportedOnce) {
    take(sample());
    auto health = sample();
    health.gpus.pop_back();
    EXPECT_EQ(take(health)->fault, "1 of 2 GPUs answer");
    EXPECT_EQ(reports_in(5min, health), 0);
    take(sample());
    EXPECT_EQ(take(health)->alarm, "1 of 2 GPUs answer");
}

TEST_F(Watch, HeatAndSlowClocksAreReported) {
    begin();
    auto health = sample();
    health.gpus[0].temperature_c = 69;
    EXPECT_EQ(why(health), "");
    health.gpus[0].temperature_c = 70;
    EXPECT_EQ(why(health), "GPU 0 at 70 C");
    now += 2min;
    health.gpus[1].throttle_reasons = protocol::kThrottleThermalHardware;
    EXPECT_EQ(why(health), "GPU 1 slowed down: heat");
    health.gpus[1].throttle_reasons = 0x4;  // its power cap
    EXPECT_EQ(why(health), "") << "one record a minute";
    now += 2min;
    EXPECT_EQ(why(health), "GPU 1 at full speed again");
}

TEST_F(Watch, MemoryAndDiskAreReportedWhenTheyHalve) {
    begin();
    auto health = sample();
    health.memory_available_bytes = std::int64_t{51} << 30;
    EXPECT_EQ(why(health), "");
    health.memory_available_bytes = std::int64_t{49} << 30;
    health.disk_free_bytes = std::int64_t{1} << 30;
    EXPECT_EQ(why(health), "available memory; free disk");
    now += 2min;
    EXPECT_EQ(why(health), "");
}

TEST_F(Watch, AFlickeringGpuIsReportedOnceAMinute) {
    begin();
    int reported = 0;
    for (int i = 0; i < 360; ++i) {
        auto health = sample();
        if (i % 2 == 0) health.gpus[0].throttle_reasons = protocol::kThrottlePowerBrake;
        reported += take(health) ? 1 : 0;
    }
    EXPECT_LE(reported, 60);
}

TEST_F(Watch, RecordsHaveABound) {
    auto health = sample();
    health.gpus.resize(1000);
    for (int i = 0; i < 1000; ++i) {
        health.gpus[static_cast<std::size_t>(i)].gpu = i;
        health.gpus[static_cast<std::size_t>(i)].xids.assign(100, 79);
    }
    auto const reported = take(health);
    EXPECT_EQ(reported->record.gpus.size(), protocol::kHealthGpusMax);
    EXPECT_EQ(reported->record.gpus[0].xids.size(), protocol::kHealthXidsMax);
    EXPECT_LE(reported->record.why.size(), 200u);
}

}  // namespace
}  // namespace osora::daemon
