// Failures inside the allocation are repaired inside it.
#include "tests/cluster_slurm/slurm_fixture.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::cluster {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class SlurmFaults : public SlurmTest {
protected:
    /// Seconds between two records' wall times.
    static double seconds(protocol::JournalRecord const& from, protocol::JournalRecord const& to) {
        return static_cast<double>(to.wall_us - from.wall_us) / 1e6;
    }
    template <class T>
    [[nodiscard]] protocol::JournalRecord last_of() const {
        protocol::JournalRecord found;
        for (auto const& record : run().journal()) {
            if (std::holds_alternative<T>(record.event)) found = record;
        }
        return found;
    }
};

TEST_F(SlurmFaults, AKilledRankIsRelaunchedInTheAllocation) {
    write_run_file({.nodes = 4,
                    .ranks = 8,
                    .steps = 60,
                    .more = "[worker]\nenv = { OSORA_MOCK_KILL = \"13:25@0\" }\n"});
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << logs();
    EXPECT_THAT(ended.out, HasSubstr("relaunch 1 of 3 from checkpoint 20"));
    EXPECT_THAT(ended.out, HasSubstr("32 ranks running again after "));
    EXPECT_THAT(events<protocol::AgentJoined>(), SizeIs(4));  // agents stayed
    double const took = seconds(last_of<protocol::RankFailed>(), last_of<protocol::RankStarted>());
    RecordProperty("relaunch_s", fmt::format("{:.3f}", took));
    EXPECT_TRUE(nothing_left());
}

TEST_F(SlurmFaults, AKilledAgentIsRestartedOnItsHost) {
    write_run_file({.nodes = 3, .ranks = 2, .steps = 400, .hold_at = 20});
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("launch   6 ranks")) << running.out() << logs();
    ASSERT_TRUE(eventually([this] { return !events<protocol::CheckpointCompleted>().empty(); }));
    auto const before = events<protocol::AgentJoined>();
    auto const agent = std::ranges::find(before, 1, &protocol::AgentJoined::node);
    ASSERT_NE(agent, before.end());
    ASSERT_EQ(bed().run(agent->host, {"kill", "-KILL", std::to_string(agent->pid)}).code, 0);
    run().release();
    auto const ended = running.wait(2 * tests::kPatience_s);
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << logs();
    auto const joined = events<protocol::AgentJoined>();
    ASSERT_THAT(joined, SizeIs(4));
    EXPECT_EQ(joined.back().node, 1);
    EXPECT_EQ(joined.back().host, agent->host);
    EXPECT_TRUE(nothing_left());
}

TEST_F(SlurmFaults, ASpareReplacesALostNode) {
    write_run_file({.nodes = 3,
                    .ranks = 2,
                    .steps = 900,
                    .extra = "spares = 1\n",
                    .hold_at = 20,
                    .lost_after_s = 10});
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("launch   6 ranks")) << running.out() << logs();
    ASSERT_TRUE(eventually([this] { return !events<protocol::CheckpointCompleted>().empty(); }));
    auto const joined = events<protocol::AgentJoined>();
    std::string victim;
    for (auto const& each : joined) {
        if (each.node == 2) victim = each.host;
    }
    ASSERT_THAT(victim, Not(IsEmpty()));
    bed().control({"power", victim, "off"});
    run().release();
    auto const ended = running.wait(2 * tests::kPatience_s);
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << logs();
    auto const again = events<protocol::AgentJoined>();
    ASSERT_GT(again.size(), 3u);
    EXPECT_EQ(again.back().node, 2);
    EXPECT_NE(again.back().host, victim);
    EXPECT_THAT(content_of(folder_ / "state" / "node_memory.json"), HasSubstr(victim));
}

TEST_F(SlurmFaults, AKilledControllerComesBackToTheSameAgents) {
    write_run_file({.nodes = 3, .ranks = 2, .steps = 600, .hold_at = 20});
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("launch   6 ranks")) << running.out() << logs();
    ASSERT_TRUE(eventually([this] { return !events<protocol::CheckpointCompleted>().empty(); }));
    auto const host = events<protocol::ControllerStarted>().front().host;
    int const pid = std::atoi(content_of(run_dir() / "controller.lock").c_str());
    ASSERT_GT(pid, 1);
    auto const killed = bed().run(host, {"kill", "-KILL", std::to_string(pid)});
    EXPECT_EQ(killed.code, 0);
    run().release();
    auto const ended = running.wait(2 * tests::kPatience_s);
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << logs();
    EXPECT_THAT(events<protocol::ControllerStarted>(), SizeIs(2));
    EXPECT_THAT(events<protocol::LaunchOrdered>(), SizeIs(1));
    EXPECT_THAT(events<protocol::AgentJoined>(), SizeIs(3));
}

}  // namespace
}  // namespace osora::cluster
