// Windows from packet times, against sorting all packets of random clips by hand.
#include "worker/data/frames/frame_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace osora::worker {
namespace {

/// Closed groups of pictures: each is a keyframe, then the rest in an order that is not display
/// order; times jump unevenly.
std::vector<PacketTime> random_clip(std::mt19937& random) {
    std::vector<PacketTime> packets;
    std::int64_t now = 1000;
    for (int group = 0; group < 4; ++group) {
        int const size = 1 + static_cast<int>(random() % 8);
        std::vector<std::int64_t> times;
        for (int i = 0; i < size; ++i) times.push_back(now += 1 + random() % 5);
        std::shuffle(times.begin() + 1, times.end(), random);
        for (int i = 0; i < size; ++i) packets.push_back({times[i], 0, i == 0, false});
    }
    // dts: as late as its rules allow, at most every later pts.
    std::int64_t least = INT64_MAX;
    for (std::size_t i = packets.size(); i-- > 0;) {
        least = std::min(least, packets[i].pts);
        packets[i].dts = least;
    }
    return packets;
}

TEST(FrameTable, AgreesWithSortingEverything) {
    std::mt19937 random(3);
    int early = 0;
    for (int trial = 0; trial < 2000; ++trial) {
        auto const packets = random_clip(random);
        std::vector<std::int64_t> shown;
        for (auto const& packet : packets) shown.push_back(packet.pts);
        std::ranges::sort(shown);
        FrameWindow window{.stride = 1 + static_cast<int>(random() % 3),
                           .num_frames = 1 + static_cast<int>(random() % 4)};
        window.start = static_cast<std::int64_t>(random() % shown.size());
        FrameTable table(window, 0);
        std::size_t used = 0;
        while (used < packets.size() && !table.settled()) table.add(packets[used++]);
        auto const plan = table.plan();
        std::size_t const last =
            static_cast<std::size_t>(window.start + (window.num_frames - 1) * window.stride);
        ASSERT_EQ(plan.has_value(), last < shown.size());
        if (!plan) continue;
        ASSERT_TRUE(*plan);
        if (used < packets.size()) ++early;
        for (int i = 0; i < window.num_frames; ++i) {
            ASSERT_EQ((*plan)->wanted[i], shown[window.start + i * window.stride]);
        }
        // The last keyframe that is not shown after the window's first frame.
        std::size_t key = 0;
        for (std::size_t i = 0; i < packets.size(); ++i) {
            if (packets[i].key && packets[i].pts <= (*plan)->wanted[0]) key = i;
        }
        ASSERT_EQ((*plan)->key_packet, key);
    }
    EXPECT_GT(early, 200);  // and it stops reading early
}

TEST(FrameTable, LeadingFramesNeedTheKeyframeBefore) {
    // Key at 10 with two leading pictures (8, 9), read from there on; three frames come before.
    FrameTable table({.start = 4, .stride = 1, .num_frames = 1}, 3);
    table.add({10, 7, true, false});
    table.add({8, 8, false, false});
    table.add({9, 9, false, false});
    table.add({11, 11, false, false});
    EXPECT_FALSE(*table.plan());  // frame 4 is the picture at 9
}

TEST(FrameTable, TimesThatBeginAgainAreCounted) {
    FrameTable joined({.start = 1, .stride = 2, .num_frames = 2}, 0);
    for (std::int64_t const time : {100, 110, 5, 15, 25}) joined.add({time, time, true, false});
    EXPECT_FALSE(joined.settled());
    EXPECT_TRUE((*joined.plan())->by_count);
    FrameTable before({.start = 1}, 0);  // it ends before they do
    for (std::int64_t const time : {100, 110, 120}) before.add({time, time, true, false});
    EXPECT_TRUE(before.settled());
    EXPECT_FALSE((*before.plan())->by_count);
}

TEST(FrameTable, MissingOrRepeatedTimesAreCounted) {
    FrameTable missing({.start = 1}, 0);
    missing.add({kNoTime, 0, true, false});
    missing.add({kNoTime, 1, false, false});
    EXPECT_TRUE((*missing.plan())->by_count);
    FrameTable repeated({.start = 1}, 0);
    repeated.add({5, 5, true, false});
    repeated.add({5, 5, false, false});
    EXPECT_TRUE((*repeated.plan())->by_count);
    FrameTable inside({.start = 4}, 3);
    inside.add({kNoTime, 0, true, false});
    inside.add({kNoTime, 0, true, false});
    EXPECT_FALSE(*inside.plan());
}

}  // namespace
}  // namespace osora::worker
