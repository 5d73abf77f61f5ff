// What nodes tell of steps, ranks and health: each record once in the journal, and within measure.
#include "tests/unit/daemon/controller_by_hand.hpp"

#include <gtest/gtest.h>

namespace osora::daemon {
namespace {

RankMatrix matrix(int step0, int steps) {
    RankMatrix made;
    made.epoch = 0;
    made.node = made.first_rank = 1;
    made.ranks = 1;
    made.step0 = step0;
    made.steps = steps;
    return made;
}

NodeHealth health(std::int64_t number) {
    NodeHealth made;
    made.node = 1;
    made.number = number;
    return made;
}

/// Of `controller` after `message` of node 1.
template <class Message>
bool is_kept(Controller& controller, Message message, int connection = 1) {
    std::size_t const count = controller.records.size();
    controller.say(connection, std::move(message));
    return controller.records.size() > count &&
           std::holds_alternative<Message>(controller.records.back().event);
}

TEST(ControllerMeasurements, MatricesOfAStepAreKeptOnce) {
    Controller controller;
    controller.run();
    EXPECT_TRUE(is_kept(controller, matrix(0, 64)));
    EXPECT_FALSE(is_kept(controller, matrix(0, 64)));
    EXPECT_FALSE(is_kept(controller, matrix(63, 64)));
    EXPECT_TRUE(is_kept(controller, matrix(64, 10)));
    // A controller that starts again knows them from the journal.
    Controller next(controller.records);
    next.feed(AgentConnected{7});
    next.say(7, Controller::hello(1, 0));
    EXPECT_FALSE(is_kept(next, matrix(64, 10), 7));
    EXPECT_TRUE(is_kept(next, matrix(74, 1), 7));
}

TEST(ControllerMeasurements, MatricesThatCannotBeAreNotKept) {
    Controller controller;
    controller.run();
    RankMatrix others = matrix(0, 64);
    others.first_rank = 0;
    RankMatrix stale = matrix(0, 64);
    stale.epoch = 3;
    RankMatrix crowded = matrix(0, 64);
    for (int i = 0; i < 65; ++i) crowded.figures[std::to_string(i)] = {};
    for (auto const& each : {others, stale, crowded, matrix(0, 0), matrix(-1, 64), matrix(0, 5000),
                             matrix(2'000'000'000, 64)}) {
        EXPECT_FALSE(is_kept(controller, each)) << each.step0 << " + " << each.steps;
    }
}

TEST(ControllerMeasurements, HealthIsKeptOnceAlsoWhenItIsToldAgain) {
    Controller controller;
    controller.run();
    EXPECT_TRUE(is_kept(controller, health(0)));
    EXPECT_FALSE(is_kept(controller, health(0)));
    EXPECT_TRUE(is_kept(controller, health(1)));
    Controller next(controller.records);
    next.feed(AgentConnected{7});
    next.say(7, Controller::hello(1, 0));
    EXPECT_FALSE(is_kept(next, health(1), 7));
    EXPECT_TRUE(is_kept(next, health(2), 7));
}

TEST(ControllerMeasurements, ANodeThatTellsTooMuchIsCutShort) {
    Controller controller;
    controller.run();
    std::int64_t number = 0;
    int kept = 0;
    for (int i = 0; i < 200; ++i) kept += is_kept(controller, health(number++)) ? 1 : 0;
    EXPECT_GE(kept, 64) << "what was kept for a controller that was away";
    EXPECT_LE(kept, 66);
    for (int i = 0; i < 3; ++i) {
        controller.wait(5s);
        EXPECT_TRUE(is_kept(controller, health(number++))) << "one in 5 s";
        EXPECT_FALSE(is_kept(controller, health(number++)));
    }
}

MetricChunk one_step(int step, double step_s) {
    MetricChunk made;
    made.epoch = 0;
    made.ranks = 1;
    made.step0 = step;
    made.bucket = {"64x64x8"};
    made.samples = {8};
    made.columns["step_time_s"] = {{step_s}, {step_s}, {step_s}, {0}};
    return made;
}

std::ptrdiff_t alarms_in(std::vector<JournalRecord> const& records) {
    return std::ranges::count_if(records, [](JournalRecord const& each) {
        auto const* notice = std::get_if<RunNotice>(&each.event);
        return notice != nullptr && notice->kind == "throughput_sag";
    });
}

TEST(ControllerMeasurements, SlowerStepsLeaveOneAlarmAlsoOverACrash) {
    Controller controller;
    controller.run();
    int step = 0;
    for (; alarms_in(controller.records) == 0 && step < 200; ++step) {
        controller.say(0, one_step(step, step < 100 ? 1.0 : 1.5));
    }
    EXPECT_EQ(alarms_in(controller.records), 1);
    EXPECT_LT(step, 115);
    for (; step < 200; ++step) controller.say(0, one_step(step, 1.5));
    EXPECT_EQ(alarms_in(controller.records), 1);
    EXPECT_EQ(alarms_in(Controller(controller.records).records), 1);
    // Killed between the step and its alarm: the next life tells it.
    auto cut = controller.records;
    while (alarms_in(cut) > 0) cut.pop_back();
    EXPECT_EQ(alarms_in(Controller(cut).records), 1);
}

}  // namespace
}  // namespace osora::daemon
