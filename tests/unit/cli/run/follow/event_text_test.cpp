#include "cli/run/follow/follow_text.hpp"

#include "views.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Feeds records to a view and collects what is said.
class Telling {
public:
    std::vector<std::string> tell(std::vector<protocol::JournalRecord> const& records) {
        std::vector<std::string> said;
        for (auto const& record : records) {
            auto const before = view;
            fold(view, record);
            for (auto& line : text.lines(before, record, view)) said.push_back(std::move(line));
        }
        return said;
    }
    protocol::RunView view;
    EventText text{true};
};

std::vector<protocol::JournalRecord> killed(Story& story, double at_s, int rank) {
    protocol::RankFailed failed;
    failed.attempt = 0;
    failed.rank = rank;
    failed.signal = 9;
    return {story.record(at_s, failed)};
}

TEST(EventText, ARankDies) {
    Story story;
    Telling telling;
    EXPECT_THAT(telling.tell({story.submitted(2, 200), story.plan(1)}), IsEmpty());
    EXPECT_THAT(telling.tell(story.launch(1, 0, 2, 0)), ElementsAre("launch   2 ranks in 1.40 s"));
    protocol::CheckpointCompleted saved;
    saved.attempt = 0;
    saved.step = 100;
    EXPECT_THAT(telling.tell({story.record(5, saved), story.steps(6, 0, 2, {0, 112}, {0.05, 1})}),
                IsEmpty());
    EXPECT_THAT(telling.tell(killed(story, 7, 1)),
                ElementsAre("14:31:07  rank 1 on node 0 was killed by signal 9",
                            "14:31:07  relaunch 1 of 3 from checkpoint 100"));
    protocol::RankFailed echo;  // its peer notices: exit code 10
    echo.attempt = 0;
    echo.rank = 0;
    echo.exit_code = 10;
    protocol::NodeStopped stopped;
    stopped.attempt = 0;
    EXPECT_THAT(telling.tell({story.record(7.5, echo), story.record(8, stopped)}), IsEmpty());
    EXPECT_THAT(telling.tell(story.launch(10.8, 1, 2, 100)),
                ElementsAre("14:31:11  2 ranks running again after 4.20 s · 12 steps repeated"));
}

TEST(EventText, NoCheckpointYet) {
    Story story;
    Telling telling;
    telling.tell({story.submitted(1, 200), story.plan(1)});
    telling.tell(story.launch(1, 0, 1, 0));
    EXPECT_THAT(telling.tell(killed(story, 2, 0)),
                ElementsAre("14:31:02  rank 0 on node 0 was killed by signal 9",
                            "14:31:02  relaunch 1 of 3 from the start (no checkpoint yet)"));
}

TEST(EventText, AUserAsksForARelaunch) {
    Story story;
    Telling telling;
    telling.tell({story.submitted(2, 200), story.plan(1)});
    telling.tell(story.launch(1, 0, 2, 0));
    protocol::RelaunchAsked asked{false, "alice", "new driver"};
    EXPECT_THAT(telling.tell({story.record(3, asked), story.record(3.1, asked)}),
                ElementsAre("14:31:03  relaunch asked by alice: new driver · stopping after this "
                            "step"));
    protocol::RelaunchAsked const late{true, "osora", "the graceful stop took too long"};
    EXPECT_THAT(telling.tell({story.record(63, late)}),
                ElementsAre("14:32:03  stopping now: the graceful stop took too long"));
    EXPECT_THAT(telling.tell({story.record(64, protocol::NodeStopped{})}), IsEmpty());
    EXPECT_THAT(telling.tell(story.launch(65, 1, 2, 0)),
                ElementsAre("14:32:05  relaunch from the start (no checkpoint yet), as asked",
                            "14:32:05  2 ranks running again after 62.4 s"));
    telling.tell({story.record(70, protocol::RelaunchAsked{true, "", ""})});
    protocol::NodeLost lost;
    lost.why = "agent was killed by signal 9";
    EXPECT_THAT(telling.tell({story.record(71, lost)}),
                ElementsAre(testing::HasSubstr("node 0"),
                            "14:32:11  relaunch 1 of 3 from the start (no checkpoint yet)"));
}

TEST(EventText, NoticesAreSaidThreeTimesAndThenCounted) {
    Story story;
    Telling telling;
    telling.tell({story.submitted(1, 200), story.plan(1)});
    protocol::RunNotice notice;
    notice.kind = "clip_skipped";
    notice.severity = "warning";
    notice.rank = 3;
    notice.detail = "clips/a.mp4: bad\nheader";
    std::vector<protocol::JournalRecord> records;
    for (int i = 0; i < 10; ++i) records.push_back(story.record(1, notice));
    EXPECT_THAT(
        telling.tell(records),
        ElementsAre("14:31:01  warning: clips/a.mp4: bad?header (rank 3)",
                    "14:31:01  warning: clips/a.mp4: bad?header (rank 3)",
                    "14:31:01  warning: clips/a.mp4: bad?header (rank 3) · further ones are "
                    "counted: osora report"));
}

TEST(EventText, AdviceIsWrappedBesideItsTime) {
    Story story;
    Telling telling;
    telling.tell({story.submitted(1, 200), story.plan(1)});
    protocol::RunNotice notice;
    notice.kind = "no_steps_found";
    notice.severity = "info";
    notice.rank = -1;
    notice.detail =
        "no training steps were found in the output; osora exec-steps LOG shows what is found in a "
        "log, and worker.step_pattern says how they are written";
    EXPECT_THAT(telling.tell({story.record(1, notice)}),
                ElementsAre("14:31:01  no training steps were found in the output; osora "
                            "exec-steps LOG shows\n"
                            "          what is found in a log, and worker.step_pattern says how "
                            "they are\n"
                            "          written"));
}

TEST(EventText, StopsAndNewControllers) {
    Story story;
    Telling telling;
    telling.tell({story.submitted(1, 200), story.plan(1)});
    telling.tell(story.launch(1, 0, 1, 0));
    protocol::ControllerStarted second;
    second.incarnation = 1;
    EXPECT_THAT(telling.tell({story.record(3, second)}),
                ElementsAre("14:31:03  controller 2 takes over"));
    EXPECT_THAT(telling.tell({story.record(4, protocol::StopRequested{false, "osora cancel"})}),
                ElementsAre("14:31:04  stopping after this step: osora cancel"));
    EXPECT_THAT(telling.tell({story.record(5, protocol::StopRequested{true, "Ctrl-C"})}),
                ElementsAre("14:31:05  stopping now: Ctrl-C"));
    protocol::NodeStopped left;
    left.attempt = 0;
    left.processes_left = 2;
    EXPECT_THAT(telling.tell({story.record(6, left)}),
                ElementsAre("14:31:06  warning: 2 processes left on node 0"));
}

TEST(EventText, HangsAndLostNodes) {
    Story story;
    Telling telling;
    telling.tell({story.submitted(1, 200), story.plan(1)});
    telling.tell(story.launch(1, 0, 1, 0));
    protocol::HangDetected hang;
    hang.attempt = 0;
    hang.phase = protocol::Phase::step;
    hang.silent_s = 61;
    EXPECT_THAT(telling.tell({story.record(9, hang)}),
                ElementsAre("14:31:09  rank 0 on node 0 made no progress for 61 s in phase 'step'",
                            "14:31:09  relaunch 1 of 3 from the start (no checkpoint yet)"));
}

}  // namespace
}  // namespace osora::cli
