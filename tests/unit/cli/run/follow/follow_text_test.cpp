#include "cli/run/follow/follow_text.hpp"

#include "base/text/units.hpp"
#include "tests/unit/cli/run/follow/views.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::cli {
namespace {

using protocol::RunView;
using testing::ElementsAre;
using testing::IsEmpty;

RunView view_of(std::vector<protocol::JournalRecord> const& records) {
    RunView view;
    for (auto const& each : records) fold(view, each);
    return view;
}

std::vector<protocol::JournalRecord> running(Story& story, int ranks, int steps) {
    std::vector<protocol::JournalRecord> records{story.submitted(ranks, steps), story.plan(7.31)};
    for (auto const& each : story.launch(0.2, 0, ranks, 0)) records.push_back(each);
    return records;
}

std::int64_t at(double seconds) {
    return Story::kStart_us + static_cast<std::int64_t>(seconds * 1e6);
}

TEST(FollowText, ProgressAsSketched) {
    Story story;
    auto records = running(story, 2, 70000);
    protocol::CheckpointCompleted saved;
    saved.attempt = 0;
    saved.step = 1000;
    records.push_back(story.record(60, saved));
    records.push_back(story.steps(300, 0, 2, {1239, 1}, {7.28, 0.1432}));
    EXPECT_THAT(progress_lines(view_of(records), {7.31, 0}, at(300), 80),
                ElementsAre("step 1,240/70,000  loss 0.1432  7.28 s/step (expected 7.31 s)  "
                            "1.1 samples/s",
                            "  ETA 5d 19h  mem 1.25 GiB  data wait 2.0 %  comm 6.4 %  "
                            "ckpt 1,000 (4 min ago)"));
}

TEST(FollowText, AScoreRunCountsItsClipsOverAllAttempts) {
    Story story;
    auto submitted = story.submitted(2, 0);
    auto& event = std::get<protocol::RunSubmitted>(submitted.event);
    event.job = "score";
    event.clips = 5000;
    std::vector<protocol::JournalRecord> records{submitted};
    for (auto const& each : story.launch(0.2, 0, 2, 0)) records.push_back(each);
    records.push_back(story.steps(20, 0, 2, {0, 10}, {1, 0}));  // 8 clips a step
    auto view = view_of(records);
    EXPECT_EQ(view.clips_done, 80);
    EXPECT_THAT(progress_lines(view, {0, 0}, at(20), 80)[0], "80/5,000 clips  8 clips/s");
    EXPECT_NEAR(view.eta_s, 4920.0 / 8, 1e-6);
    EXPECT_FALSE(view.has_loss);
    protocol::RankFailed failed;
    failed.attempt = 0;
    failed.signal = 9;
    protocol::NodeStopped stopped;
    stopped.attempt = 0;
    fold(view, story.record(25, failed));
    fold(view, story.record(26, stopped));
    for (auto const& each : story.launch(30, 1, 2, 0)) fold(view, each);
    fold(view, story.steps(40, 1, 2, {0, 2}, {1, 0}));
    EXPECT_EQ(view.clips_done, 96);
    fold(view, story.steps(50, 1, 2, {2, 1000}, {1, 0}));
    EXPECT_EQ(view.clips_done, 5000);  // rows that were made twice do not count
    EXPECT_EQ(view.eta_s, 0);
}

TEST(FollowText, NarrowTerminalsLoseTheLeastImportantFields) {
    Story story;
    auto records = running(story, 2, 70000);
    records.push_back(story.steps(300, 0, 2, {1239, 1}, {7.28, 0.1432}));
    auto const view = view_of(records);
    EXPECT_THAT(progress_lines(view, {7.31, 0}, at(300), 40),
                ElementsAre("step 1,240/70,000  loss 0.1432", "  ETA 5d 19h  mem 1.25 GiB"));
    for (int columns = 1; columns <= 120; ++columns) {
        for (auto const& line : progress_lines(view, {7.31, 0}, at(300), columns)) {
            EXPECT_LE(display_width(line), columns) << line;
        }
    }
}

TEST(FollowText, ExtremeValuesFitEightyColumns) {
    Story story;
    auto records = running(story, 2, 2'000'000'000);
    records.push_back(story.steps(300, 0, 2, {999'999'990, 3}, {86399.0, 1.23456789e-12}));
    records.push_back(story.steps(301, 0, 2, {999'999'993, 1}, {86399.0, 1e300 * 1e300}));
    for (auto const& line : progress_lines(view_of(records), {1e9, 80}, at(1e9), 80)) {
        EXPECT_LE(display_width(line), 80) << line;
    }
}

TEST(FollowText, BeforeTheFirstStepItSaysWhatIsAwaited) {
    Story story;
    auto const records = running(story, 2, 200);
    auto const upto = [&](std::size_t count) {
        return progress_lines(view_of({records.begin(), records.begin() + static_cast<int>(count)}),
                              {}, at(3.5), 80);
    };
    EXPECT_THAT(progress_lines({}, {}, at(0), 80), ElementsAre("starting the controller"));
    EXPECT_THAT(upto(3), ElementsAre("waiting for the agent  (3.00 s)"));
    EXPECT_THAT(upto(5), ElementsAre("starting 2 ranks  (3.00 s)"));
    EXPECT_THAT(upto(records.size()), ElementsAre("first step  (3.00 s)"));
}

TEST(FollowText, PipesGetOneLine) {
    Story story;
    auto records = running(story, 2, 200);
    records.push_back(story.steps(20, 0, 2, {19, 1}, {0.2, 0.5}));
    EXPECT_EQ(progress_line(view_of(records), {}),
              "step 20/200  loss 0.5  200 ms/step  40 samples/s  ETA 36 s  mem 1.25 GiB");
}

TEST(FollowText, SummaryOfAGoodRun) {
    Story story;
    auto records = running(story, 1, 200);
    records.push_back(story.steps(40, 0, 1, {199, 1}, {0.2, 0.5}));
    protocol::CheckpointCompleted saved;
    saved.attempt = 0;
    saved.step = 200;
    records.push_back(story.record(41, saved));
    protocol::RunEnded ended;
    ended.verdict = protocol::Verdict::ok;
    records.push_back(story.record(41.2, ended));
    EXPECT_EQ(summary(view_of(records), {0.21, 0}),
              "done     200 steps in 41.2 s · loss 0.5 · 200 ms/step (expected 210 ms)\n"
              "         checkpoint 200 kept · next: osora report 42\n");
}

TEST(FollowText, TheTimeOfAResumedRunIsSinceItsFirstStart) {
    Story story;
    auto records = running(story, 1, 200);
    protocol::RunEnded ended;
    ended.verdict = protocol::Verdict::cancelled;
    records.push_back(story.record(40, ended));
    protocol::ControllerStarted second;
    second.incarnation = 1;
    records.push_back(story.record(7200, second));
    records.push_back(story.record(7200, protocol::AgentJoined{}));
    for (auto& each : story.launch(7201, 1, 1, 100)) records.push_back(std::move(each));
    records.push_back(story.steps(7240, 1, 1, {199, 1}, {0.2, 0.5}));
    ended.verdict = protocol::Verdict::ok;
    records.push_back(story.record(7241, ended));
    auto const text = summary(view_of(records), {});
    EXPECT_TRUE(text.starts_with("done     200 steps in " + format_seconds(7241) +
                                 " since its first start · loss 0.5 · 200 ms/step\n"))
        << text;
}

// It trains nothing, keeps no checkpoint, and its number of steps is not known beforehand.
TEST(FollowText, AnEncodeRunShowsNoLossAndNoCheckpoint) {
    Story story;
    auto records = running(story, 1, 0);
    std::get<protocol::RunSubmitted>(records.front().event).job = "encode";
    records.push_back(story.steps(40, 0, 1, {39, 1}, {0.2, 0}));
    EXPECT_EQ(progress_line(view_of(records), {}).find("loss"), std::string::npos);
    protocol::RunEnded ended;
    ended.verdict = protocol::Verdict::ok;
    records.push_back(story.record(41.2, ended));
    EXPECT_EQ(summary(view_of(records), {}),
              "done     40 steps in 41.2 s · 200 ms/step\n"
              "         next: osora report 42\n");
}

TEST(FollowText, SummaryOfAStoppedAndOfAFailedRun) {
    Story story;
    auto records = running(story, 1, 200);
    records.push_back(story.steps(24, 0, 1, {120, 1}, {0.2, 0.5}));
    protocol::RunEnded ended;
    ended.verdict = protocol::Verdict::cancelled;
    ended.cause = "Ctrl-C";
    auto stopped = records;
    stopped.push_back(story.record(25, ended));
    EXPECT_EQ(summary(view_of(stopped), {}),
              "stopped  Ctrl-C · step 121 of 200\n"
              "         no checkpoint · osora resume 42 continues · osora report 42\n");
    ended.verdict = protocol::Verdict::node_fault;
    ended.cause = "rank 0 on node 0 was killed by signal 9";
    records.push_back(story.record(25, ended));
    EXPECT_EQ(
        summary(view_of(records), {}),
        "failed   rank 0 on node 0 was killed by signal 9 · step 121 of 200\n"
        "         no checkpoint · osora resume 42 continues · osora logs 42 · osora report 42\n"
        "         osora explain E-node\n");
}

TEST(FollowText, ExpectedComesFromThePlan) {
    EXPECT_EQ(expected_of({{"predicted", {{"step_time_s", 0.5}}}}).step_time_s, 0.5);
    EXPECT_EQ(expected_of(nullptr).step_time_s, 0);
    EXPECT_EQ(expected_of({{"predicted", 3}}).step_time_s, 0);
}

}  // namespace
}  // namespace osora::cli
