// A controller is killed and restarted while its agents wait (--supervised): the run is not
// affected. Agents use TLS here, like those of other machines.
#include "base/files/files.hpp"
#include "protocol/messages/agent_messages.hpp"
#include "protocol/messages/message.hpp"
#include "tests/e2e/peer.hpp"
#include "tests/e2e/run_fixture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <set>

namespace osora::e2e {
namespace {

using namespace protocol;
using testing::ContainsRegex;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class E2eAdoption : public Run {
protected:
    void SetUp() override {
        Run::SetUp();
        arguments() = {"--supervised"};
    }
    static RunSpec long_run() {
        RunSpec spec;
        spec.nodes = 2;
        spec.steps = 100000;
        spec.checkpoint_every = 50;
        spec.lease_s = 0;  // 15 min
        return spec;
    }
    /// A run of 300 steps; waits until a checkpoint is there and the ranks hold after it.
    void train_to_a_checkpoint() {
        RunSpec spec = long_run();
        spec.steps = 300;
        spec.hold_at = spec.checkpoint_every;
        make_run(spec);
        start();
        await_event<RankStarted>(4);
        await_event<CheckpointCompleted>();
    }
    /// The steps in the journal: each rank once in each, without a gap.
    void expect_every_step_once() const {
        // Read first: the run goes on, and rows of steps follow the steps.
        auto const matrices = events<RankMatrix>();
        std::map<int, int> ranks;  // by step
        std::map<int, int> reported{{0, 0}, {1, 0}};
        for (auto const& each : events<MergedSteps>()) {
            for (auto const& node : nodes_of(each).value()) {
                EXPECT_GT(node.next_step, reported[node.node]);
                reported[node.node] = node.next_step;
            }
            for (std::size_t i = 0; i < each.ranks.size(); ++i) {
                ranks[each.step0 + static_cast<int>(i)] += each.ranks[i];
            }
        }
        int next = 0;
        for (auto const& [step, count] : ranks) {
            EXPECT_EQ(step, next++);
            EXPECT_EQ(count, (step < reported[0] ? 2 : 0) + (step < reported[1] ? 2 : 0)) << step;
        }
        for (int const node : {0, 1}) expect_every_row_once(matrices, node, next);
    }
    static void expect_every_row_once(std::vector<RankMatrix> const& matrices, int node,
                                      int steps) {
        int row = 0;
        for (auto const& matrix : matrices) {
            if (matrix.node != node) continue;
            EXPECT_EQ(matrix.step0, row) << "node " << node;
            row = matrix.step0 + matrix.steps;
        }
        EXPECT_GE(steps, row);
    }
    [[nodiscard]] std::set<int> worker_pids() const {
        std::set<int> pids;
        for (auto const& each : events<RankStarted>()) pids.insert(each.pid);
        return pids;
    }
    void expect_one_undisturbed_attempt() const {
        EXPECT_EQ(events<LaunchOrdered>().size(), 1u);
        EXPECT_EQ(events<AgentJoined>().size(), 2u);
        EXPECT_EQ(events<RankStarted>().size(), 4u);
        EXPECT_TRUE(events<NodeLost>().empty());
        EXPECT_TRUE(events<RankFailed>().empty());
        expect_every_step_once();
    }
    /// Until the present controller has taken metrics of every node.
    double seconds_to_metrics_after(std::size_t known_records) const {
        auto const begin = Clock::now();
        auto const both = [&] {
            auto const records = events<MergedSteps>();
            std::set<int> nodes;
            for (std::size_t i = known_records; i < records.size(); ++i) {
                for (auto const& each : nodes_of(records[i]).value()) nodes.insert(each.node);
            }
            return nodes.size() == 2;
        };
        EXPECT_TRUE(eventually(both)) << "no metrics after the restart";
        return std::chrono::duration<double>(Clock::now() - begin).count();
    }
    void stop() {
        EXPECT_TRUE(command(ControlStop{.now = false, .reason = "enough"}).ok);
        EXPECT_EQ(wait_for_exit(), 130);
        EXPECT_TRUE(all_gone(0));
        EXPECT_FALSE(std::filesystem::exists(paths().controller_file()));
    }
};

TEST_F(E2eAdoption, TheNextControllerTakesTheLivingAgents) {
    make_run(long_run());
    start();
    await_event<RankStarted>(4);
    await_steps(10);
    auto const before = controller_file();
    EXPECT_EQ(before.incarnation, 0);
    kill_controller();
    std::size_t const records = events<MergedSteps>().size();
    auto const alive = processes();
    EXPECT_EQ(alive.size(), 6u) << "two agents with two workers each";
    start();
    double const seconds = seconds_to_metrics_after(records);
    fmt::print("metrics of both nodes {:.2f} s after the start of the second controller\n",
               seconds);
    RecordProperty("metrics_s", fmt::format("{:.2f}", seconds));  // two on an idle machine
    EXPECT_EQ(last<ControllerStarted>().incarnation, 1);
    auto const after = controller_file();
    EXPECT_EQ(after.incarnation, 1);
    EXPECT_EQ(after.token, before.token);
    EXPECT_EQ(after.fingerprint, before.fingerprint);
    EXPECT_NE(after.pid, before.pid);
    for (int const pid : worker_pids()) EXPECT_TRUE(process_id_of(pid).has_value());
    expect_one_undisturbed_attempt();
    stop();
}

TEST_F(E2eAdoption, AlsoWhenAnotherProgramHasTakenItsPort) {
    make_run(long_run());
    start();
    await_event<RankStarted>(4);
    await_steps(5);
    auto const before = controller_file();
    kill_controller();
    // It accepts and answers nonsense: an agent must not stop at it.
    Listener const squatter(before.port);
    std::size_t const records = events<MergedSteps>().size();
    start();
    seconds_to_metrics_after(records);
    EXPECT_NE(controller_file().port, before.port);
    expect_one_undisturbed_attempt();
    stop();
}

TEST_F(E2eAdoption, EventsInTheMeantimeAreReported) {
    RunSpec spec = long_run();
    spec.steps = 60;
    spec.checkpoint_every = 10;
    spec.hold_at = 5;
    make_run(spec);
    start();
    await_event<RankStarted>(4);
    kill_controller();
    release();
    auto const trained = [&] {
        return std::filesystem::exists(paths().checkpoints() / "step-00000060");
    };
    EXPECT_TRUE(eventually(trained)) << "the ranks do not train on";
    start();
    EXPECT_EQ(wait_for_exit(), 0) << errors();
    expect_one_undisturbed_attempt();
    EXPECT_EQ(last<NodeFinished>().steps, 60);
    EXPECT_EQ(last<CheckpointCompleted>().step, 60);
    std::map<int, int> saved;
    for (auto const& each : events<CheckpointCompleted>()) ++saved[each.step];
    for (auto const& [step, count] : saved) EXPECT_EQ(count, 1) << "step " << step;
    EXPECT_EQ(saved.size(), 6u);
    int steps = 0;
    for (auto const& each : events<MergedSteps>()) {
        steps += std::accumulate(each.ranks.begin(), each.ranks.end(), 0);
    }
    EXPECT_EQ(steps, 4 * 60);
    EXPECT_TRUE(all_gone(0));
}

TEST_F(E2eAdoption, AWorkerThatDiedMeanwhileIsRelaunched) {
    train_to_a_checkpoint();
    kill_controller();
    int const victim = *worker_pids().begin();
    signal_process(process_id_of(victim).value(), SIGKILL);
    release();
    start();
    EXPECT_EQ(wait_for_exit(), 0) << errors();
    EXPECT_EQ(events<LaunchOrdered>().size(), 2u);
    EXPECT_EQ(events<AgentJoined>().size(), 2u) << "the agents are the same";
    EXPECT_TRUE(std::ranges::any_of(events<RankFailed>(), [&](RankFailed const& each) {
        return each.signal == SIGKILL && each.attempt == 0;
    }));
}

TEST_F(E2eAdoption, AnAgentThatDiedMeanwhileIsReplaced) {
    train_to_a_checkpoint();
    auto const joined = last<AgentJoined>();
    kill_controller();
    signal_process({.pid = joined.pid, .start_ticks = joined.start_ticks}, SIGKILL);
    release();
    start();
    EXPECT_EQ(wait_for_exit(), 0) << errors();
    EXPECT_THAT(last<NodeLost>().why, HasSubstr("ended while there was no controller"));
    EXPECT_EQ(events<AgentJoined>().size(), 3u);
    EXPECT_TRUE(all_gone(0));
}

/// The controller dies right after its k-th decision, whatever that is.
class E2eKilledAfterARecord : public E2eAdoption, public testing::WithParamInterface<int> {};

TEST_P(E2eKilledAfterARecord, TheRunEndsAsIfNothingHadHappened) {
    RunSpec spec = long_run();
    spec.steps = 12;
    spec.checkpoint_every = 6;
    spec.env = {{"OSORA_MOCK_STEP_S", "0.02"}};
    make_run(spec);
    std::size_t const records = static_cast<std::size_t>(GetParam());
    auto const decisions = [&] {
        return std::ranges::count_if(journal(), [](JournalRecord const& each) {
            return !std::holds_alternative<MergedSteps>(each.event);
        });
    };
    start();
    auto const ended = [&] { return has_ended(*controller()); };
    EXPECT_TRUE(
        eventually([&] { return static_cast<std::size_t>(decisions()) >= records || ended(); }));
    signal_controller(SIGKILL);
    (void)wait_for_exit();  // it may have ended by itself
    start();
    EXPECT_EQ(wait_for_exit(), 0) << errors();
    EXPECT_EQ(events<RunEnded>().size(), 1u);
    EXPECT_EQ(last<RunEnded>().verdict, Verdict::ok);
    EXPECT_EQ(events<LaunchOrdered>().size(), 1u);
    EXPECT_EQ(events<RankStarted>().size(), 4u);
    EXPECT_EQ(events<NodeFinished>().size(), 2u);
    EXPECT_EQ(events<CheckpointCompleted>().size(), 2u);
    expect_every_step_once();
    EXPECT_TRUE(all_gone(0));
}

// submitted, plan, controller, two agents, launch, four ranks, checkpoint, finished, checkpoint...
INSTANTIATE_TEST_SUITE_P(Records, E2eKilledAfterARecord, testing::Range(1, 17));

enum class Disturbance { none, stop, kill_agent };

/// The controller dies right after the first record of a type, in a run with a fault.
struct FaultyRun {
    char const* name;
    std::size_t event;  // RunEvent::index()
    std::map<std::string, std::string> env;
    Disturbance disturbance = Disturbance::none;
    int exit_code = 0;
};

template <class Event>
std::size_t index_of() {
    return RunEvent(Event{}).index();
}

class E2eKilledInAFault : public E2eAdoption, public testing::WithParamInterface<FaultyRun> {
protected:
    [[nodiscard]] bool is_recorded(std::size_t event) const {
        return std::ranges::any_of(
            journal(), [event](JournalRecord const& each) { return each.event.index() == event; });
    }
    void disturb() {
        if (GetParam().disturbance == Disturbance::none) return;
        await_event<RankStarted>(4);
        await_steps(5);
        if (GetParam().disturbance == Disturbance::stop) {
            EXPECT_TRUE(command(ControlStop{.now = false, .reason = "test"}).ok);
            return;
        }
        auto const agent = last<AgentJoined>();
        signal_process({.pid = agent.pid, .start_ticks = agent.start_ticks}, SIGKILL);
    }
};

TEST_P(E2eKilledInAFault, TheNextControllerContinuesFromThere) {
    RunSpec spec = long_run();
    spec.steps = 60;
    spec.checkpoint_every = 5;
    spec.hold_at = 20;
    spec.step_timeout_s = 5;
    spec.env = GetParam().env;
    spec.env["OSORA_MOCK_STEP_S"] = "0.02";
    make_run(spec);
    start();
    disturb();
    EXPECT_TRUE(eventually([&] { return is_recorded(GetParam().event); }));
    kill_controller();
    release();
    start();
    EXPECT_EQ(wait_for_exit(), GetParam().exit_code) << errors();
    EXPECT_EQ(events<RunEnded>().size(), 1u);
    bool const stopped = GetParam().disturbance == Disturbance::stop;
    EXPECT_EQ(events<LaunchOrdered>().size(), stopped ? 1u : 2u);
    std::set<std::pair<int, int>> failed;
    for (auto const& each : events<RankFailed>()) {
        EXPECT_TRUE(failed.emplace(each.attempt, each.rank).second) << "reported twice";
    }
    EXPECT_TRUE(all_gone(0));
}

std::map<std::string, std::string> const kKilledRank{{"OSORA_MOCK_KILL", "1:12@0"}};
INSTANTIATE_TEST_SUITE_P(
    Faults, E2eKilledInAFault,
    testing::Values(FaultyRun{"RankFailed", index_of<RankFailed>(), kKilledRank},
                    FaultyRun{"NodeStopped", index_of<NodeStopped>(), kKilledRank},
                    FaultyRun{"Hang", index_of<HangDetected>(), {{"OSORA_MOCK_HANG", "1:12@0"}}},
                    FaultyRun{"NodeLost", index_of<NodeLost>(), {}, Disturbance::kill_agent},
                    FaultyRun{
                        "StopRequested", index_of<StopRequested>(), {}, Disturbance::stop, 130}),
    [](auto const& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace osora::e2e
