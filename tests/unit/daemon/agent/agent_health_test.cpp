// The agent core: when it samples, how it handles a sample; its ranks' cores and matrices.
#include "daemon/agent/agent_core.hpp"

#include "protocol/gpu_failure.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>

namespace osora::daemon {
namespace {

using namespace protocol;

class HealthAgent : public testing::Test {
protected:
    explicit HealthAgent() {
        AgentOptions options;
        options.host = "n0";
        options.lease = 1000s;
        core_ = std::make_unique<AgentCore>(options, Now{});
    }
    void feed(AgentInput const& input) {
        for (AgentAction& each : core_->handle({now_}, input)) actions_.push_back(std::move(each));
    }
    void hear(ToAgent const& message) { feed(ControllerSaid{message}); }
    void welcome(bool health) {
        feed(ControllerConnected{});
        hear(Welcome{0, health, health, health});
    }
    void wait(MonotonicTime duration) {
        for (MonotonicTime const end = now_ + duration; core_->next_deadline() <= end;) {
            now_ = core_->next_deadline();
            feed(AgentTick{});
        }
    }
    [[nodiscard]] std::size_t asked() const {
        return static_cast<std::size_t>(std::ranges::count_if(
            actions_, [](auto const& each) { return std::holds_alternative<SampleHealth>(each); }));
    }
    template <class T>
    [[nodiscard]] std::vector<T> sent() const {
        std::vector<T> found;
        for (auto const& each : actions_) {
            auto const* action = std::get_if<SendToController>(&each);
            auto const* message = action != nullptr ? std::get_if<T>(&action->message) : nullptr;
            if (message != nullptr) found.push_back(*message);
        }
        return found;
    }
    MonotonicTime now_{};
    std::unique_ptr<AgentCore> core_;
    AgentActions actions_;
};

TEST_F(HealthAgent, SamplesOnlyForAControllerThatTakesThem) {
    welcome(false);
    wait(60s);
    EXPECT_EQ(asked(), 0u);
    welcome(true);
    wait(9s);
    EXPECT_EQ(asked(), 0u);
    wait(1s);
    EXPECT_EQ(asked(), 1u);
}

StepMetrics step_with_a_vote(int number) {
    StepMetrics metrics;
    metrics.step = number;
    metrics.bucket = "8x8x1";
    CollectiveCost vote{.name = "stop vote", .collective = "all_reduce", .backend = "gloo"};
    vote.ranks = 2;
    vote.calls = 1;
    vote.bytes = 4;
    metrics.collectives = {vote};
    return metrics;
}

TEST_F(HealthAgent, ReportsCollectivesSoonThenRarelyAndAtTheEnd) {
    welcome(true);
    hear(LaunchWorkers{.attempt = 0, .world_size = 2, .local_world_size = 1, .store_host = ""});
    feed(WorkerSpawned{0, 0, 100, ""});
    std::vector<double> reported_s;
    for (int second = 0; second < 1300; ++second) {
        auto const before = sent<CollectiveSums>().size();
        wait(1s);
        hear(HeartbeatAck{});
        if (sent<CollectiveSums>().size() > before) reported_s.push_back(second);
        feed(WorkerSaid{0, 0, step_with_a_vote(second)});
    }
    ASSERT_EQ(reported_s.size(), 9u);
    for (auto const& [i, at_s] : std::map<int, int>{{0, 10},
                                                    {1, 20},
                                                    {2, 40},
                                                    {3, 80},
                                                    {4, 160},
                                                    {5, 320},
                                                    {6, 620},
                                                    {7, 920},
                                                    {8, 1220}}) {
        EXPECT_NEAR(reported_s[static_cast<std::size_t>(i)], at_s, i + 2) << i;
    }
    feed(WorkerExited{0, 0, 1, 0, false});
    auto const all = sent<CollectiveSums>();
    ASSERT_EQ(all.size(), 10u) << "what is left goes with the attempt";
    std::int64_t steps = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].number, static_cast<int>(i));
        for (auto const& sum : all[i].sums) steps += sum.rank_steps;
    }
    EXPECT_EQ(steps, 1300);
}

TEST_F(HealthAgent, ReportsCollectivesOnlyToAControllerThatTakesThem) {
    welcome(false);
    hear(LaunchWorkers{.attempt = 0, .world_size = 2, .local_world_size = 1, .store_host = ""});
    feed(WorkerSpawned{0, 0, 100, ""});
    feed(WorkerSaid{0, 0, step_with_a_vote(0)});
    wait(60s);
    EXPECT_TRUE(sent<CollectiveSums>().empty());
}

TEST(AgentCore, MaySampleAtOnce) {
    AgentOptions options;
    options.health_first = 0s;
    AgentCore core(options, Now{});
    (void)core.handle(Now{}, ControllerConnected{});
    auto const actions = core.handle(Now{}, ControllerSaid{Welcome{0, true, true, true}});
    EXPECT_TRUE(std::ranges::any_of(
        actions, [](auto const& each) { return std::holds_alternative<SampleHealth>(each); }));
}

TEST_F(HealthAgent, DoesNotAskAgainBeforeTheAnswer) {
    welcome(true);
    wait(45s);
    EXPECT_EQ(asked(), 1u);
    feed(HealthSampled{});
    wait(20s);
    EXPECT_EQ(asked(), 2u);
}

TEST_F(HealthAgent, SaysThatADriverHangs) {
    welcome(true);
    wait(60s);
    EXPECT_TRUE(sent<RunNotice>().empty());
    wait(60s);
    ASSERT_EQ(sent<RunNotice>().size(), 1u);
    EXPECT_EQ(sent<RunNotice>()[0].detail, "n0: a GPU driver or file system does not answer");
    feed(HealthSampled{});
    wait(20s);
    EXPECT_EQ(asked(), 2u);
}

TEST_F(HealthAgent, ReportsAndWarns) {
    welcome(true);
    wait(10s);
    HealthSampled answer;
    answer.sample.gpus.emplace_back().xids = {79};
    feed(answer);
    ASSERT_EQ(sent<NodeHealth>().size(), 1u);
    EXPECT_EQ(sent<NodeHealth>()[0].why, "GPU 0: Xid 79");
    ASSERT_EQ(sent<RunNotice>().size(), 1u);
    EXPECT_EQ(sent<RunNotice>()[0].detail, "n0: GPU 0: Xid 79");
    EXPECT_EQ(sent<RunNotice>()[0].kind, "node_health");
}

class GpuAgent : public HealthAgent {
protected:
    /// An attempt of one rank on a node with a GPU, whose rank then fails.
    void fail_a_rank() {
        welcome(true);
        wait(10s);
        sampled({});
        hear(LaunchWorkers{.attempt = 0, .world_size = 2, .local_world_size = 1, .store_host = ""});
        feed(WorkerSpawned{0, 0, 100, ""});
        feed(WorkerExited{0, 0, 1, 0, false});
        hear(StopAttempt{0, StopHow::terminate, "rank 0 failed"});
    }
    void sampled(std::vector<int> xids) {
        HealthSampled answer;
        answer.sample.gpus.emplace_back().xids = std::move(xids);
        feed(answer);
    }
};

TEST_F(GpuAgent, AsksTheDriverWhyARankFailedBeforeItReportsTheStop) {
    fail_a_rank();
    EXPECT_EQ(asked(), 2u);
    EXPECT_TRUE(sent<NodeStopped>().empty());
    sampled({31, 79});
    ASSERT_EQ(sent<NodeStopped>().size(), 1u);
    EXPECT_EQ(sent<NodeStopped>()[0].gpu_fault, "GPU 0: Xid 79");
    hear(LaunchWorkers{.attempt = 1, .world_size = 2, .local_world_size = 1, .store_host = ""});
    feed(WorkerSpawned{1, 0, 101, ""});
    hear(StopAttempt{1, StopHow::kill, "asked"});
    feed(WorkerExited{1, 0, 0, SIGKILL, false});
    ASSERT_EQ(sent<NodeStopped>().size(), 2u) << "no rank has failed";
    EXPECT_EQ(sent<NodeStopped>()[1].gpu_fault, "") << "that was in the attempt before";
}

TEST_F(GpuAgent, DoesNotWaitForADriverThatHangs) {
    fail_a_rank();
    wait(1s);
    EXPECT_TRUE(sent<NodeStopped>().empty());
    wait(2s);
    ASSERT_EQ(sent<NodeStopped>().size(), 1u);
    EXPECT_EQ(sent<NodeStopped>()[0].gpu_fault, "");
    sampled({79});
    EXPECT_EQ(sent<NodeStopped>().size(), 1u);
}

TEST(ExecAgent, ReportsAFaultyGpuOfARankThatIsStopped) {
    AgentOptions options;
    options.exec = true;
    AgentCore core(options, Now{});
    std::vector<RankFailed> reported;
    auto const feed = [&](AgentInput const& input) {
        for (AgentAction const& each : core.handle(Now{}, input)) {
            auto const* action = std::get_if<SendToController>(&each);
            auto const* failed =
                action != nullptr ? std::get_if<RankFailed>(&action->message) : nullptr;
            if (failed != nullptr) reported.push_back(*failed);
        }
    };
    feed(ControllerConnected{});
    feed(ControllerSaid{Welcome{}});
    LaunchWorkers order;
    order.world_size = order.local_world_size = 2;
    feed(ControllerSaid{order});
    for (int rank : {0, 1}) feed(WorkerSpawned{0, rank, 100 + rank, ""});
    feed(ControllerSaid{StopAttempt{0, StopHow::terminate, "rank 2 lost its peers"}});
    feed(WorkerExited{0, 0, 1, 0, false, "terminated", ""});
    EXPECT_TRUE(reported.empty()) << "it was stopped";
    feed(WorkerExited{0, 1, 1, 0, false, "", "CUDA error: uncorrectable ECC error encountered\n"});
    ASSERT_EQ(reported.size(), 1u);
    EXPECT_EQ(reported[0].rank, 1);
    EXPECT_EQ(hardware_fault_of(reported[0]), "uncorrectable ECC error encountered");
}

TEST_F(HealthAgent, ANodeWithoutGpusReportsTheStopAtOnce) {
    welcome(true);
    wait(10s);
    feed(HealthSampled{});
    hear(LaunchWorkers{.attempt = 0, .world_size = 2, .local_world_size = 1, .store_host = ""});
    feed(WorkerSpawned{0, 0, 100, ""});
    feed(WorkerExited{0, 0, 1, 0, false});
    hear(StopAttempt{0, StopHow::terminate, "rank 0 failed"});
    EXPECT_EQ(sent<NodeStopped>().size(), 1u);
    EXPECT_EQ(asked(), 1u);
}

TEST_F(HealthAgent, ReportsTheCoresOfItsRanks) {
    welcome(false);
    LaunchWorkers order;
    order.world_size = order.local_world_size = 2;
    hear(order);
    feed(WorkerSpawned{0, 0, 100, "", "0-3"});
    feed(WorkerSaid{0, 0, WorkerHello{kWorkerProtocol, 0, 100, 0, {}}});
    ASSERT_EQ(sent<RankStarted>().size(), 1u);
    EXPECT_EQ(sent<RankStarted>()[0].cpus, "0-3");
    EXPECT_TRUE(sent<RunNotice>().empty());
}

TEST_F(HealthAgent, SaysWhyItsRanksHaveNone) {
    welcome(false);
    hear(LaunchWorkers{});
    feed(RanksNotBound{0, "4 ranks, 2 cores"});
    ASSERT_EQ(sent<RunNotice>().size(), 1u);
    EXPECT_EQ(sent<RunNotice>()[0].detail, "ranks are not bound to cores: 4 ranks, 2 cores");
    EXPECT_EQ(sent<RunNotice>()[0].severity, "info");
}

TEST_F(HealthAgent, ReportsTheTimesOfEachRankToAControllerThatTakesThem) {
    for (bool const taken : {false, true}) {
        welcome(taken);
        LaunchWorkers order;
        order.attempt = taken ? 1 : 0;
        hear(order);
        StepMetrics step;
        step.arrival_s = 0.5;
        for (; step.step < 70; ++step.step) feed(WorkerSaid{order.attempt, 0, step});
        wait(1s);
        EXPECT_EQ(sent<RankMatrix>().size(), taken ? 1u : 0u);
        feed(WorkerExited{order.attempt, 0, 10, 0, false});
    }
    ASSERT_EQ(sent<RankMatrix>().size(), 2u) << "the end of the attempt takes the rest";
    EXPECT_EQ(sent<RankMatrix>()[1].step0, 64);
    EXPECT_EQ(sent<RankMatrix>()[1].steps, 6);
}

}  // namespace
}  // namespace osora::daemon
