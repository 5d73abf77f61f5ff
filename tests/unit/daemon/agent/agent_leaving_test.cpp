// When an agent without workers and without a controller gives up.
#include "daemon/agent/agent_core.hpp"

#include <gtest/gtest.h>

namespace osora::daemon {
namespace {

using std::chrono_literals::operator""ms;

class AgentLeaving : public testing::Test {
protected:
    AgentLeaving() : core_(options(), {}) {}
    static AgentOptions options() {
        AgentOptions made;
        made.lease = 10s;
        return made;
    }
    void feed(AgentInput const& input) { keep(core_.handle({now_}, input)); }
    void keep(AgentActions actions) {
        for (auto const& each : actions) left_ = left_ || std::holds_alternative<ExitAgent>(each);
    }
    /// Until `end`, or until it exits.
    void wait_until(MonotonicTime end) {
        while (!left_ && core_.next_deadline() <= end) {
            now_ = core_.next_deadline();
            feed(AgentTick{});
        }
        if (!left_) now_ = end;
    }
    AgentCore core_;
    MonotonicTime now_{};
    bool left_ = false;
};

TEST_F(AgentLeaving, NobodyAnswers) {
    wait_until(30s);
    EXPECT_TRUE(left_);
    EXPECT_EQ(now_, 10s);
}

TEST_F(AgentLeaving, AWelcomeThatIsOnItsWayIsWaitedFor) {
    wait_until(9900ms);
    feed(ControllerConnected{});
    wait_until(11s);
    EXPECT_FALSE(left_);
    feed(ControllerSaid{protocol::Welcome{}});
    wait_until(15s);
    EXPECT_FALSE(left_);
}

TEST_F(AgentLeaving, ButNotForLong) {
    wait_until(9s);
    feed(ControllerConnected{});
    wait_until(30s);
    EXPECT_TRUE(left_);
    EXPECT_EQ(now_, 14s);
}

TEST_F(AgentLeaving, AConnectionThatBreaksEndsTheWait) {
    wait_until(9900ms);
    feed(ControllerConnected{});
    wait_until(11s);
    feed(ControllerDisconnected{});
    EXPECT_TRUE(left_);
}

}  // namespace
}  // namespace osora::daemon
