// How the controller handles a hang: it inquires before it kills, waits for a bounded time, and
// does nothing to a run that continues.
#include "daemon/controller/controller_core.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::daemon {
namespace {

using namespace protocol;
using std::chrono_literals::operator""ms;

/// Two nodes with a rank each, running; connection n is the agent of node n.
class ControllerHang : public testing::Test {
protected:
    ControllerHang() : core_(options(), {}) {
        take(core_.start({now_, 5}));
        for (int node : {0, 1}) {
            feed(AgentConnected{node});
            AgentHello hello;
            hello.token = "secret";
            hello.node = node;
            hello.pid = 100 + node;
            say(node, hello);
        }
        say(0, StoreReserved{0, "h", 29500, ""});
        for (int rank : {0, 1}) {
            RankStarted started;
            started.attempt = 0;
            started.node = started.rank = rank;
            say(rank, started);
        }
    }
    static ControllerOptions options() {
        ControllerOptions made;
        made.submission.nodes = 2;
        made.submission.restarts_max = 1;
        made.token = "secret";
        return made;
    }
    void take(ControllerActions made) {
        for (ControllerAction& each : made) actions_.push_back(std::move(each));
    }
    void feed(ControllerInput const& input) { take(core_.handle({now_, 5}, input)); }
    void say(int connection, FromAgent message) { feed(AgentSaid{connection, std::move(message)}); }
    /// Both agents send heartbeats; rank 1 computes in step 8, rank 0 waits for it.
    void beat(double silent_s) {
        now_ += 1s;
        say(0, Heartbeat{0, {{0, Phase::step, 7, silent_s, 0, 8}}});
        now_ += 300ms;
        say(1, Heartbeat{0, {{1, Phase::step, 7, silent_s, 0, 7}}});
    }
    template <class Message>
    [[nodiscard]] int sent() const {
        int count = 0;
        for (ControllerAction const& each : actions_) {
            auto const* send = std::get_if<SendToAgent>(&each);
            count += send != nullptr && std::holds_alternative<Message>(send->message) ? 1 : 0;
        }
        return count;
    }
    [[nodiscard]] std::vector<HangDetected> hangs() const {
        std::vector<HangDetected> found;
        for (ControllerAction const& each : actions_) {
            auto const* append = std::get_if<AppendRecord>(&each);
            if (append == nullptr) continue;
            auto const* hang = std::get_if<HangDetected>(&append->record.event);
            if (hang != nullptr) found.push_back(*hang);
        }
        return found;
    }

    MonotonicTime now_ = 100s;
    ControllerCore core_;
    ControllerActions actions_;
};

TEST_F(ControllerHang, InquiresAtEveryNodeBeforeItActs) {
    beat(59);
    EXPECT_EQ(sent<TakeStacks>(), 0);
    beat(61);
    EXPECT_EQ(sent<TakeStacks>(), 2);
    EXPECT_EQ(sent<StopAttempt>(), 0);
    EXPECT_TRUE(hangs().empty());
    beat(62);
    EXPECT_EQ(sent<TakeStacks>(), 2) << "asked once";
    say(0, StacksTaken{0, {{0, "waits in poll"}}});
    EXPECT_TRUE(hangs().empty());
    say(1, StacksTaken{0, {{1, "runs"}, {0, "a lie of another node"}}});
    ASSERT_EQ(hangs().size(), 1u);
    EXPECT_EQ(hangs()[0].rank, 1);
    EXPECT_EQ(hangs()[0].node, 1);
    EXPECT_EQ(hangs()[0].step, 7);
    EXPECT_EQ(hangs()[0].waiting, 1);
    EXPECT_EQ(hangs()[0].detail, "runs");
    EXPECT_EQ(sent<StopAttempt>(), 2);
    EXPECT_EQ(core_.status().state, RunState::relaunching);
    EXPECT_THAT(core_.status().cause, testing::EndsWith("it runs; 1 rank waits for it"));
}

TEST_F(ControllerHang, DoesNotWaitForAnAnswerForEver) {
    beat(61);
    say(0, StacksTaken{0, {{0, "waits in poll"}}});
    for (int i = 0; i < 2; ++i) beat(62);
    EXPECT_TRUE(hangs().empty());
    EXPECT_LE(core_.next_deadline(), now_ + 1500ms);
    beat(65);
    EXPECT_EQ(hangs().size(), 1u);
}

TEST_F(ControllerHang, ARunThatContinuesIsLeftAlone) {
    beat(61);
    beat(0.5);
    for (int node : {0, 1}) say(node, StacksTaken{0, {}});
    EXPECT_TRUE(hangs().empty());
    EXPECT_EQ(core_.status().state, RunState::running);
    beat(61);
    EXPECT_EQ(sent<TakeStacks>(), 4) << "inquired again";
}

TEST_F(ControllerHang, AStoppedRankIsBlamedThoughItWaits) {
    now_ += 1s;
    say(0, Heartbeat{0, {{0, Phase::step, 7, 61, 0, 8}}});
    say(1, Heartbeat{0, {{1, Phase::step, 7, 64, 0, 8}}});
    say(0, StacksTaken{0, {{0, "is stopped by a signal"}}});
    say(1, StacksTaken{0, {{1, "waits in poll"}}});
    ASSERT_EQ(hangs().size(), 1u);
    EXPECT_EQ(hangs()[0].rank, 0);
    EXPECT_EQ(hangs()[0].detail, "is stopped by a signal");
}

TEST_F(ControllerHang, WhenAllHaveArrivedNobodyIsBlamed) {
    now_ += 1s;
    say(0, Heartbeat{0, {{0, Phase::step, 7, 61, 0, 8}}});
    say(1, Heartbeat{0, {{1, Phase::step, 7, 64, 0, 8}}});
    for (int node : {0, 1}) say(node, StacksTaken{0, {{node, "waits in poll"}}});
    ASSERT_EQ(hangs().size(), 1u);
    EXPECT_EQ(hangs()[0].waiting, 0);
    EXPECT_THAT(hangs()[0].detail, testing::HasSubstr("all have arrived: the network"));
}

TEST_F(ControllerHang, AFailureMeanwhileIsTheCause) {
    beat(61);
    RankFailed failed;
    failed.attempt = 0;
    failed.node = failed.rank = 0;
    failed.exit_code = 14;
    say(0, failed);
    for (int node : {0, 1}) say(node, StacksTaken{0, {}});
    for (int i = 0; i < 6; ++i) beat(70);
    EXPECT_TRUE(hangs().empty());
    EXPECT_THAT(core_.status().cause, testing::HasSubstr("exited with 14"));
}

}  // namespace
}  // namespace osora::daemon
