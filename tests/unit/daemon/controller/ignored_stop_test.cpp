// Ranks that ignore a graceful stop: the agent sees it, the controller does not wait for them.
#include "daemon/agent/agent_core.hpp"
#include "daemon/controller/controller_core.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace osora::daemon {
namespace {

using namespace protocol;

/// An agent whose ranks 0 and 1 get a stop request when they have done step 10.
class AskedAgent {
public:
    AskedAgent() : core_(options(), {}) {
        feed(ControllerConnected{});
        hear(Welcome{});
        LaunchWorkers launch;
        launch.attempt = 0;
        launch.world_size = launch.local_world_size = 2;
        hear(launch);
        for (int const rank : {0, 1}) {
            feed(WorkerSpawned{0, rank, 100 + rank, ""});
            say(rank, PhaseChanged{Phase::step, 0});
            step(rank, 10);
        }
        hear(StopAttempt{0, StopHow::checkpoint, "osora cancel"});
    }
    void hear(ToAgent const& message) {
        AgentInput input(std::in_place_type<ControllerSaid>);
        std::get<ControllerSaid>(input).message = message;
        feed(input);
    }
    void say(int rank, FromWorker message) { feed(WorkerSaid{0, rank, std::move(message)}); }
    void step(int rank, int number) {
        StepMetrics metrics;
        metrics.step = number;
        say(rank, metrics);
    }
    /// The ranks that ignore the request, from the last heartbeat of that time.
    std::vector<int> ignoring_after(MonotonicTime time) {
        for (MonotonicTime const end = now_ + time; core_.next_deadline() <= end;) {
            now_ = core_.next_deadline();
            feed(AgentTick{});
            hear(HeartbeatAck{});
        }
        std::vector<int> ranks;
        for (auto const& each : last_beat_.ranks) {
            if (each.ignores_stop) ranks.push_back(each.rank);
        }
        return ranks;
    }

private:
    static AgentOptions options() {
        AgentOptions made;
        made.token = "secret";
        return made;
    }
    void feed(AgentInput const& input) {
        for (AgentAction const& each : core_.handle({now_}, input)) {
            auto const* sent = std::get_if<SendToController>(&each);
            auto const* beat = sent ? std::get_if<Heartbeat>(&sent->message) : nullptr;
            if (beat != nullptr) last_beat_ = *beat;
        }
    }

    MonotonicTime now_{};
    AgentCore core_;
    Heartbeat last_beat_;
};

using Ranks = std::vector<int>;

TEST(IgnoredStop, RanksThatContinueAreReported) {
    AskedAgent agent;
    for (int const rank : {0, 1}) agent.step(rank, 14);
    EXPECT_EQ(agent.ignoring_after(4s), Ranks{}) << "many steps, in a short time";
    agent.say(1, PhaseChanged{Phase::checkpoint, 0});
    EXPECT_EQ(agent.ignoring_after(2s), Ranks{0}) << "the other one saves";
    agent.hear(StopAttempt{0, StopHow::kill, ""});
    EXPECT_EQ(agent.ignoring_after(1s), Ranks{}) << "they have no choice now";
}

TEST(IgnoredStop, SlowStepsAreNoIgnoredStop) {
    AskedAgent agent;
    EXPECT_EQ(agent.ignoring_after(30s), Ranks{});
    agent.step(0, 12);
    EXPECT_EQ(agent.ignoring_after(2s), Ranks{}) << "a vote may take a step more";
}

TEST(IgnoredStop, TheControllerKillsInsteadOfWaiting) {
    ControllerOptions options;
    options.submission.nodes = 1;
    options.token = "secret";
    ControllerCore core(options, {});
    (void)core.start({});
    auto const say = [&core](FromAgent message) {
        return core.handle({}, AgentSaid{0, std::move(message)});
    };
    (void)core.handle({}, AgentConnected{0});
    AgentHello hello;
    hello.token = "secret";
    hello.node = 0;
    hello.attempt = -1;
    hello.pid = 100;
    (void)say(hello);
    (void)say(StoreReserved{0, "h", 29500, ""});
    RankStarted started;
    started.attempt = started.node = started.rank = 0;
    (void)say(started);
    ASSERT_EQ(core.status().state, RunState::running);

    Heartbeat beat;
    beat.attempt = 0;
    beat.ranks.emplace_back();
    beat.ranks.back().ignores_stop = true;
    (void)say(beat);
    EXPECT_EQ(core.status().stop, StopMode::none) << "nobody has asked";
    (void)core.handle({}, StopAsked{false, "osora cancel"});
    EXPECT_EQ(core.status().stop, StopMode::graceful);
    auto const actions = say(beat);
    EXPECT_EQ(core.status().stop, StopMode::now);
    EXPECT_EQ(core.status().cause, "osora cancel");
    bool const killed = std::ranges::any_of(actions, [](ControllerAction const& each) {
        auto const* sent = std::get_if<SendToAgent>(&each);
        auto const* stop = sent ? std::get_if<StopAttempt>(&sent->message) : nullptr;
        return stop != nullptr && stop->how == StopHow::kill;
    });
    EXPECT_TRUE(killed);
}

}  // namespace
}  // namespace osora::daemon
