// Spans against the times that a run was made with.
#include "db/analysis/report/run_spans.hpp"

#include "db/ingest/event_row.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::db::analysis {
namespace {

using namespace protocol;
using testing::ElementsAre;
using testing::IsEmpty;

class RunSpans : public testing::Test {
protected:
    void at(double s, RunEvent event) {
        events_.push_back(event_row({events_.size(), us(s), std::move(event)}));
    }
    static std::int64_t us(double s) { return 1'700'000'000'000'000 + std::llround(1e6 * s); }
    /// "start 0 100..105", seconds from the start.
    std::vector<std::string> spans(std::vector<LaunchTimes> const& launches) {
        std::vector<std::string> lines;
        for (auto const& span : run_spans(events_, launches)) {
            auto const seconds = [](std::int64_t wall_us) {
                return static_cast<double>(wall_us - us(0)) / 1e6;
            };
            lines.push_back(fmt::format("{} e{} s{} {:g}..{:g}", span.name, span.attempt, span.step,
                                        seconds(span.from_us), seconds(span.to_us)));
        }
        return lines;
    }
    void begin() {
        RunSubmitted submitted;
        submitted.nodes = 2;
        submitted.ranks_per_node = 1;
        at(0, submitted);
        at(1, PlanChosen{});
        at(2, ControllerStarted{"n0", "boot", 7, 0});
        at(3, AgentJoined{0, "n0", "boot", 7, 7, {}});
        at(5, AgentJoined{1, "n1", "boot", 7, 7, {}});
    }
    void launch(double s, int attempt, int start_step) {
        at(s, LaunchOrdered{attempt, 2, "n0", 4000});
        at(s + 3, RankStarted{attempt, 1, 1, 11, start_step, {}});
        at(s + 3.5, RankStarted{attempt, 1, 1, 11, start_step, {}});  // reported twice
        at(s + 4, RankStarted{attempt, 0, 0, 10, start_step, {}});
    }
    std::vector<EventRecord> events_;
};

TEST_F(RunSpans, ARunWithAFault) {
    begin();
    launch(10, 0, 0);
    at(40, CheckpointCompleted{0, 20, "checkpoints/a", 2.5, 1000});
    at(50, RankFailed{0, 1, 1, 0, 9, false, ""});
    at(51, NodeStopped{0, 0, 0});
    at(52, NodeStopped{0, 1, 0});
    launch(60, 1, 20);
    at(90, NodeFinished{1, 0, 40, false});
    at(91, NodeFinished{1, 1, 40, false});
    at(99, RunEnded{Verdict::ok, 0, ""});
    EXPECT_THAT(
        spans({{0, us(16), us(49)}, {1, us(65), us(88)}}),
        ElementsAre("agents e-1 s-1 2..5", "start e0 s0 10..14", "first_step e0 s0 14..16",
                    "checkpoint e0 s20 37.5..40", "relaunch e1 s20 50..64", "start e1 s20 60..64",
                    "first_step e1 s20 64..65", "end e1 s-1 88..99"));
}

TEST_F(RunSpans, TheWaitInAQueueAndTheProbeAfterIt) {
    RunSubmitted submitted;
    submitted.nodes = 2;
    submitted.submitted_us = us(-3600);
    at(0, submitted);
    at(2, ControllerStarted{"n0", "boot", 7, 0, 9.5});
    at(5, AgentJoined{0, "n0", "boot", 7, 7, {}});
    at(30, ControllerStarted{"n0", "boot", 8, 1, 0});  // the next life
    EXPECT_THAT(spans({}), ElementsAre("queue e-1 s-1 -3600..-7.5", "probe e-1 s-1 -7.5..2",
                                       "agents e-1 s-1 2..5"));
}

TEST_F(RunSpans, WhatDidNotHappenHasNoSpan) {
    EXPECT_THAT(spans({}), IsEmpty());
    begin();
    at(10, LaunchOrdered{0, 2, "n0", 4000});
    at(13, RankStarted{0, 1, 1, 11, 0, {}});  // the other rank never came
    at(20, RunEnded{Verdict::node_fault, 8, "a node is gone"});
    EXPECT_THAT(spans({{0, 0, 0}}), ElementsAre("agents e-1 s-1 2..5"));
}

TEST_F(RunSpans, ClocksThatJumpAndWrongSecondsMakeNone) {
    begin();
    at(10, LaunchOrdered{0, 1, "n0", 4000});
    at(4, RankStarted{0, 0, 0, 11, 0, {}});
    at(20, CheckpointCompleted{0, 20, "a", std::nan(""), 1000});
    at(21, CheckpointCompleted{0, 20, "a", 1e300, 1000});
    at(22, CheckpointCompleted{0, 20, "a", -3, 1000});
    EventRecord newer;
    newer.wall_us = us(30);
    newer.sequence = 99;
    newer.body = R"({"type":"x"})";
    events_.push_back(newer);
    EXPECT_THAT(spans({{0, us(3), us(12)}}), ElementsAre("agents e-1 s-1 2..5"));
}

}  // namespace
}  // namespace osora::db::analysis
