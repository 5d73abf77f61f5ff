// A host with a faulty GPU: the controller blames it, and the node leaves it before the relaunch.
#include "tests/unit/daemon/controller/controller_by_hand.hpp"

#include <gtest/gtest.h>

namespace osora::daemon {
namespace {

ControllerOptions with_other_hosts() {
    ControllerOptions options = Controller::options({});
    options.has_other_hosts = true;
    return options;
}

RankFailed ecc_error(int attempt, int rank) {
    RankFailed failed = Controller::killed(attempt, rank);
    failed.signal = 0;
    failed.exit_code = 17;
    failed.message = "CUDA error: uncorrectable ECC error encountered";
    return failed;
}

TEST(FaultyGpu, TheNodeLeavesItsHostBeforeTheRelaunch) {
    Controller controller(with_other_hosts());
    controller.run();
    controller.say(1, ecc_error(0, 1));
    ASSERT_EQ(controller.asked<BlameHost>().size(), 1u);
    EXPECT_EQ(controller.asked<BlameHost>()[0].node, 1);
    EXPECT_EQ(controller.asked<BlameHost>()[0].fault, "uncorrectable ECC error encountered");
    EXPECT_FALSE(controller.asked<BlameHost>()[0].counted);
    EXPECT_TRUE(controller.asked<StopAgent>().empty()) << "its workers are stopped first";
    controller.say(0, NodeStopped{0, 0, 0});
    EXPECT_TRUE(controller.asked<StopAgent>().empty());
    controller.say(1, NodeStopped{0, 1, 0});
    ASSERT_EQ(controller.asked<StopAgent>().size(), 1u);
    EXPECT_EQ(controller.asked<StopAgent>()[0].node, 1);
    EXPECT_TRUE(controller.asked<BlameHost>().empty()) << "once";
    EXPECT_TRUE(controller.sent<ReserveStore>().empty());
    controller.feed(AgentExited{1, 1, 0, SIGKILL, 0, ""});
    ASSERT_EQ(controller.asked<StartAgent>().size(), 1u);
    EXPECT_EQ(controller.asked<StartAgent>()[0].node, 1);
    controller.feed(AgentConnected{9});
    controller.say(9, Controller::hello(1, -1, 202));
    EXPECT_EQ(controller.sent<ReserveStore>().at(0).second.attempt, 1);
    EXPECT_EQ(controller.core.status().restarts, 1);
    EXPECT_EQ(controller.core.status().cause,
              "rank 1 on node 1 exited with 17 (its GPU failed): CUDA error: uncorrectable ECC "
              "error encountered");
}

TEST(FaultyGpu, WhatAnAgentSawOfItsDriverCountsAsWell) {
    Controller controller(with_other_hosts());
    controller.run();
    RankFailed lost_peer = ecc_error(0, 0);
    lost_peer.exit_code = 10;
    lost_peer.message = "connection reset by peer";
    controller.say(0, lost_peer);
    controller.say(0, NodeStopped{0, 0, 0});
    NodeStopped stopped{0, 1, 0};
    stopped.gpu_fault = "GPU 3: Xid 79" + std::string(300, '.');
    controller.say(1, stopped);
    ASSERT_EQ(controller.asked<BlameHost>().size(), 1u);
    EXPECT_EQ(controller.asked<BlameHost>()[0].fault.size(), 200u) << "agents are not trusted";
    EXPECT_EQ(controller.asked<StopAgent>().at(0).node, 1);
    EXPECT_TRUE(controller.core.status().cause.starts_with(
        "node 1 was lost: its host has a faulty GPU: GPU 3: Xid 79"));
}

TEST(FaultyGpu, OnTheOnlyHostTheAgentStays) {
    Controller controller;
    controller.run();
    controller.say(1, ecc_error(0, 1));
    EXPECT_EQ(controller.asked<BlameHost>().size(), 1u);
    controller.say(0, NodeStopped{0, 0, 0});
    controller.say(1, NodeStopped{0, 1, 0});
    EXPECT_TRUE(controller.asked<StopAgent>().empty());
    EXPECT_EQ(controller.sent<ReserveStore>().at(0).second.attempt, 1);
}

TEST(FaultyGpu, TheHostIsBlamedAlsoWhenNoRestartIsLeft) {
    ControllerOptions options = with_other_hosts();
    options.submission.restarts_max = 0;
    Controller controller(options);
    controller.run();
    controller.say(1, ecc_error(0, 1));
    EXPECT_EQ(controller.asked<BlameHost>().size(), 1u) << "the next run avoids it";
    EXPECT_EQ(controller.core.status().verdict, Verdict::node_fault);
    EXPECT_EQ(controller.state(), RunState::finishing);
}

TEST(FaultyGpu, TheNextControllerRepeatsTheBlameForItsBackendButDoesNotCountItAgain) {
    Controller controller(with_other_hosts());
    controller.run();
    controller.say(1, ecc_error(0, 1));
    ControllerOptions options = with_other_hosts();
    options.next_sequence = controller.records.size();
    Controller next(options, controller.records);
    ASSERT_EQ(next.asked<BlameHost>().size(), 1u) << "its backend does not know the doubt";
    EXPECT_EQ(next.asked<BlameHost>()[0].node, 1);
    EXPECT_TRUE(next.asked<BlameHost>()[0].counted);
    for (int node : {0, 1}) {
        next.feed(AgentConnected{node});
        next.say(node, Controller::hello(node, 0));
        next.say(node, NodeStopped{0, node, 0});
    }
    EXPECT_TRUE(next.asked<BlameHost>().empty());
    EXPECT_EQ(next.asked<StopAgent>().at(0).node, 1) << "the node leaves it all the same";
}

}  // namespace
}  // namespace osora::daemon
