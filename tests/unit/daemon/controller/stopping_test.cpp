// Who stops a run, and how long it may take.
#include "tests/unit/daemon/controller/controller_by_hand.hpp"

#include <gtest/gtest.h>

namespace osora::daemon {
namespace {

TEST(Stopping, AGracefulStopHasALimit) {
    for (bool const lifeline : {false, true}) {
        Controller controller;
        controller.run();
        controller.feed(lifeline ? ControllerInput(ClientGone{}) : StopAsked{false, "Ctrl-C"});
        EXPECT_EQ(controller.sent<StopAttempt>().at(0).second.how, StopHow::checkpoint);
        controller.wait(lifeline ? 7500ms : 59500ms);
        EXPECT_EQ(controller.core.status().stop, StopMode::graceful);
        controller.wait(500ms);
        EXPECT_EQ(controller.core.status().stop, StopMode::now);
        EXPECT_EQ(controller.sent<StopAttempt>().at(0).second.how, StopHow::kill);
        controller.wait(6s);
        EXPECT_EQ(controller.asked<StopAgent>().size(), 2u)
            << "an agent that cannot is ended itself";
    }
}

// A large checkpoint takes longer than the limit; one that no longer advances does not.
TEST(Stopping, AGracefulStopWaitsForACheckpointThatIsWritten) {
    Controller controller;
    controller.run();
    controller.feed(StopAsked{false, "osora cancel"});
    auto const save_for = [&](MonotonicTime time, double silent_s) {
        for (MonotonicTime waited{}; waited < time; waited += 1s) {
            for (int const node : {0, 1}) {
                RankHeartbeat rank;
                rank.rank = node;
                rank.phase = node == 0 ? Phase::checkpoint : Phase::finishing;
                rank.silent_s = silent_s;
                Heartbeat beat;
                beat.attempt = 0;
                beat.ranks = {rank};
                controller.say(node, beat);
            }
            controller.wait(1s, {});
        }
    };
    save_for(300s, 9);
    EXPECT_EQ(controller.core.status().stop, StopMode::graceful);
    save_for(10s, 31);
    EXPECT_EQ(controller.core.status().stop, StopMode::now);
}

TEST(Stopping, ASecondStopRequestStopsNow) {
    Controller controller;
    controller.run();
    controller.feed(StopAsked{false, "Ctrl-C"});
    controller.feed(StopAsked{false, "Ctrl-C"});
    EXPECT_EQ(controller.sent<StopAttempt>().at(0).second.how, StopHow::terminate);
    EXPECT_EQ(controller.core.status().cause, "Ctrl-C");
}

// Plain scancel signals the batch step, the agents and, on some clusters, the controller itself.
TEST(Stopping, ASignalThatComesByTwoWaysIsOneRequest) {
    Controller controller;
    controller.run();
    for (char const* by : {"the job was asked to end", "Slurm asked the job to end", "signal 15"})
        controller.feed(StopAsked{false, by, false});
    EXPECT_EQ(controller.core.status().stop, StopMode::graceful);
    EXPECT_EQ(controller.core.status().cause, "the job was asked to end");
    EXPECT_FALSE(controller.core.status().stopped_by_user);
    controller.feed(StopAsked{true, "the job was asked to end", false});
    EXPECT_EQ(controller.core.status().stop, StopMode::now) << "a second one from the same place";
}

TEST(Stopping, APersonWhoStopsAWarnedRunStopsItForGood) {
    for (bool const person_first : {false, true}) {
        Controller controller;
        controller.run();
        controller.feed(StopAsked{false, "first", person_first});
        controller.feed(StopAsked{false, "second", !person_first});
        EXPECT_EQ(controller.core.status().stop, StopMode::graceful) << "both may save";
        EXPECT_TRUE(controller.core.status().stopped_by_user);
        controller.feed(StopAsked{false, "third", false});
        EXPECT_EQ(controller.core.status().stop, StopMode::graceful);
        controller.feed(StopAsked{false, "again", true});
        EXPECT_EQ(controller.core.status().stop, StopMode::now);
    }
}

}  // namespace
}  // namespace osora::daemon
