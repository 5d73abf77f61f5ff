// The table at the width of a terminal: who is shown when there is no place for all, and what is
// said of a slow rank.
#include "cli/run/follow/node_table.hpp"

#include "cli/text/terminal.hpp"
#include "views.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::cli {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ResultOf;
using testing::SizeIs;
using testing::StartsWith;

/// 40 steps of `nodes` nodes with 8 ranks each; rank `slow` works 0.4 s longer.
protocol::RunView trained(int nodes, int slow) {
    Story story;
    protocol::RunView view;
    auto submitted = story.submitted(8, 70000);
    std::get<protocol::RunSubmitted>(submitted.event).nodes = nodes;
    fold(view, submitted);
    fold(view, story.record(0, protocol::PlanChosen{}));
    fold(view, story.record(0, protocol::ControllerStarted{}));
    for (int node = 0; node < nodes; ++node) {
        protocol::AgentJoined joined;
        joined.node = node;
        joined.host = "gpu-node-with-a-long-name-" + std::to_string(node);
        fold(view, story.record(1, joined));
    }
    fold(view, story.record(1, protocol::LaunchOrdered{0, 8 * nodes, "h", 1}));
    for (int node = 0; node < nodes; ++node) {
        protocol::MetricChunk chunk;
        chunk.node = node;
        chunk.ranks = 8;
        chunk.bucket.assign(40, "64x64x8");
        chunk.samples.assign(40, 8);
        bool const here = slow / 8 == node && slow >= 0;
        double const latest = 6.8 + (here ? 0.4 : 0.01);
        std::vector<int> const who(40, here ? slow : 8 * node);
        auto const column = [](double mean, double max) {
            return protocol::MetricColumn{std::vector(40, mean), std::vector(40, mean),
                                          std::vector(40, max), std::vector<int>(40, 0)};
        };
        chunk.columns = {{"step_time_s", column(7.3, 7.3)},
                         {"exposed_comm_s", column(here ? 0.4 : 0.5, 0.5)},
                         {"rss_bytes", column(0, 61.4 * 1024 * 1024 * 1024)}};
        chunk.columns["arrival_s"] = {std::vector(40, here ? 6.8 + 0.4 / 8 : 6.8),
                                      std::vector(40, 6.7), std::vector(40, latest), who};
        fold(view, story.record(300, chunk));
    }
    return view;
}

TEST(NodeTable, ARowForEachNode) {
    auto const lines = node_lines(trained(2, -1), {80, 20});
    EXPECT_THAT(lines, ElementsAre(" node            ranks  step  s/step  own s  wait    memory",
                                   " ..-long-name-0  0-7      40    7.30   6.81   7 %  61.4 GiB",
                                   " ..-long-name-1  8-15     40    7.30   6.81   7 %  61.4 GiB"));
    EXPECT_THAT(node_lines(protocol::RunView{}, {80, 20}), IsEmpty());
}

TEST(NodeTable, TheSlowNodeKeepsItsPlace) {
    auto const view = trained(16, 100);
    auto const lines = node_lines(view, {80, 8});
    EXPECT_THAT(lines, SizeIs(8));
    EXPECT_THAT(lines, testing::Contains(HasSubstr("rank 100 late")));
    EXPECT_EQ(lines.back(), " and 10 more nodes that work for less time");
    EXPECT_THAT(lines, Each(ResultOf(display_width, testing::Le(80))));
    EXPECT_EQ(arrival_line(view),
              "slow     rank 100 on gpu-node-with-a-long-name-12 arrives 400 ms (5 %) after the "
              "others, last in 40 of 40 steps");
}

TEST(NodeTable, NothingIsShownWhenNoRankIsSlow) {
    EXPECT_EQ(arrival_line(trained(4, -1)), "");
}

TEST(NodeTable, AFailedRankAndALostAgentAreMarked) {
    auto view = trained(3, -1);
    Story story;
    protocol::RankFailed failed;
    failed.node = 1;
    failed.rank = 9;
    failed.signal = 9;
    protocol::NodeLost lost;
    lost.node = 2;
    fold(view, story.record(301, failed));
    fold(view, story.record(301, lost));
    auto const lines = node_lines(view, {80, 20});
    ASSERT_THAT(lines, SizeIs(4));
    EXPECT_THAT(lines[1], Not(HasSubstr("rank")));
    EXPECT_THAT(lines[2], HasSubstr("rank 9 failed"));
    EXPECT_THAT(lines[3], HasSubstr("no agent"));
}

TEST(NodeTable, AGpuInTroubleIsMarked) {
    auto view = trained(3, -1);
    Story story;
    protocol::NodeHealth health;
    health.gpus.resize(2);
    health.gpus[1].gpu = 1;
    health.gpus[1].temperature_c = 88.4;
    fold(view, story.record(301, health));
    health.node = 1;
    health.gpus[0].throttle_reasons = protocol::kThrottleThermalHardware;
    fold(view, story.record(301, health));
    health.node = 2;
    health.gpus[1].xids = {79};
    fold(view, story.record(301, health));
    auto lines = node_lines(view, {80, 20});
    ASSERT_THAT(lines, SizeIs(4));
    EXPECT_THAT(lines[1], HasSubstr("GPU 1 at 88 C"));
    EXPECT_THAT(lines[2], HasSubstr("GPU 0 slowed down"));
    EXPECT_THAT(lines[3], HasSubstr("GPU 1: Xid 79"));
    health.gpus.clear();
    fold(view, story.record(301, health));
    EXPECT_THAT(node_lines(view, {80, 20})[3], Not(HasSubstr("GPU")));
}

}  // namespace
}  // namespace osora::cli
