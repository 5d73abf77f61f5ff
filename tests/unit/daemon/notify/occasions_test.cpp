// The messages that the events of a run cause.
#include "daemon/notify/occasions.hpp"

#include "protocol/notice_kinds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::daemon {
namespace {

using namespace protocol;

constexpr std::int64_t kSecond_us = 1'000'000;

/// The journal of a run on one node with one rank.
class Story {
public:
    explicit Story(Occasions& occasions) : occasions_(occasions) {}

    std::optional<NotifyMessage> add(RunEvent event) {
        auto message = occasions_.take({0, wall_us_, event});
        written_.push_back({0, wall_us_, std::move(event)});
        if (message) sent_.push_back(*message);
        return message;
    }
    void begin(std::string const& job = "train") {
        RunSubmitted submitted;
        submitted.run_name = "demo-0007";
        submitted.number = 7;
        submitted.job = job;
        submitted.restarts_max = 100;
        submitted.submitted_us = wall_us_;
        add(submitted);
        add(PlanChosen{});
        add(ControllerStarted{"h", "b", 1, 0, 0});
        AgentJoined joined;
        joined.host = "h";
        add(joined);
        launch(0);
    }
    void launch(int attempt) {
        add(LaunchOrdered{attempt, 1, "h", 1});
        RankStarted started;
        started.attempt = attempt;
        add(started);
    }
    void die(int attempt, int signal = 9) {
        RankFailed failed;
        failed.attempt = attempt;
        failed.signal = signal;
        add(failed);
    }
    void die_and_relaunch(int attempt, int signal = 9) {
        die(attempt, signal);
        add(NodeStopped{attempt, 0, 0, false});
        launch(attempt + 1);
    }
    void end(Verdict verdict, int exit_code, std::string cause) {
        add(RunEnded{verdict, exit_code, std::move(cause)});
    }
    void pass(double seconds) { wall_us_ += static_cast<std::int64_t>(seconds * kSecond_us); }
    [[nodiscard]] std::vector<NotifyMessage> const& sent() const { return sent_; }
    [[nodiscard]] std::vector<JournalRecord> const& written() const { return written_; }

private:
    Occasions& occasions_;
    std::int64_t wall_us_ = 1'767'225'600 * kSecond_us;
    std::vector<NotifyMessage> sent_;
    std::vector<JournalRecord> written_;
};

std::vector<std::string> const kAll{"end", "failure", "regression"};

TEST(Occasions, ARunThatEndsWellCausesOneMessage) {
    Occasions occasions(kAll, "demo", "h");
    Story story(occasions);
    story.begin();
    story.pass(62);
    story.end(Verdict::ok, 0, "");
    story.end(Verdict::ok, 0, "");
    ASSERT_EQ(story.sent().size(), 1u);
    auto const& message = story.sent().front();
    EXPECT_EQ(message.occasion, Occasion::end);
    EXPECT_EQ(message.run, 7);
    EXPECT_EQ(message.name, "demo-0007");
    EXPECT_EQ(message.state, "done");
    EXPECT_EQ(message.exit_code, 0);
    EXPECT_EQ(message.series, "demo");
    EXPECT_DOUBLE_EQ(message.elapsed_s, 62);
    EXPECT_EQ(message.id, "");
}

TEST(Occasions, RestartsForOneCauseCauseOneMessageIn10Minutes) {
    Occasions occasions(kAll, "demo", "h");
    Story story(occasions);
    story.begin();
    for (int attempt = 0; attempt < 5; ++attempt) {
        story.pass(100);
        story.die_and_relaunch(attempt);
    }
    ASSERT_EQ(story.sent().size(), 1u);
    EXPECT_EQ(story.sent()[0].occasion, Occasion::failure);
    EXPECT_EQ(story.sent()[0].state, "relaunching");
    EXPECT_EQ(story.sent()[0].exit_code, std::nullopt);
    EXPECT_THAT(story.sent()[0].reason,
                testing::HasSubstr("rank 0 on node 0 was killed by signal"));
    story.pass(600);
    story.die_and_relaunch(5);
    EXPECT_EQ(story.sent().size(), 2u);
}

TEST(Occasions, AClockThatJumpsBackCausesNoStorm) {
    Occasions occasions(kAll, "demo", "h");
    Story story(occasions);
    story.begin();
    for (int attempt = 0; attempt < 4; ++attempt) {
        story.pass(-3600);
        story.die_and_relaunch(attempt);
    }
    EXPECT_EQ(story.sent().size(), 1u);
}

TEST(Occasions, AFailedRunCausesItsLastMessageWhateverRestartedIt) {
    Occasions occasions({"failure"}, "demo", "h");
    Story story(occasions);
    story.begin();
    story.die_and_relaunch(0);
    story.die(1);
    story.end(Verdict::node_fault, 1, "rank 0 on node 0 was killed by signal 9");
    ASSERT_EQ(story.sent().size(), 2u);
    EXPECT_EQ(story.sent()[1].state, "failed");
    EXPECT_EQ(story.sent()[1].exit_code, 1);
    EXPECT_EQ(story.sent()[1].verdict, "node_fault");
    EXPECT_EQ(story.sent()[1].id, "E-killed");
}

TEST(Occasions, OnlyThoseThatWereChosen) {
    Occasions ends({"end"}, "demo", "h");
    Story fails(ends);
    fails.begin();
    fails.die_and_relaunch(0);
    fails.end(Verdict::app_bug, 1, "bug");
    EXPECT_TRUE(fails.sent().empty());

    Occasions failures({"failure"}, "demo", "h");
    Story succeeds(failures);
    succeeds.begin();
    succeeds.end(Verdict::ok, 0, "");
    EXPECT_TRUE(succeeds.sent().empty());

    Occasions stops({"end"}, "demo", "h");
    Story cancelled(stops);
    cancelled.begin();
    cancelled.end(Verdict::cancelled, 130, "osora cancel");
    ASSERT_EQ(cancelled.sent().size(), 1u);
    EXPECT_EQ(cancelled.sent()[0].state, "stopped");
}

TEST(Occasions, ARegressionNeedsAGoodEnd) {
    Occasions occasions(kAll, "demo", "h");
    Story story(occasions);
    story.begin();
    EXPECT_FALSE(occasions.regression("suspected", "slow", 0));
    story.end(Verdict::ok, 0, "");
    auto const message = occasions.regression("suspected", "12 % slower", 0);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->occasion, Occasion::regression);
    EXPECT_EQ(message->reason, "12 % slower");
    Occasions encoding(kAll, "demo", "h");
    Story encode(encoding);
    encode.begin("encode");
    encode.end(Verdict::ok, 0, "");
    EXPECT_FALSE(encoding.wants_regression());
}

TEST(Occasions, TheNextControllerSendsOnlyWhatWasNotSent) {
    Occasions first(kAll, "demo", "h");
    Story story(first);
    story.begin();
    story.die_and_relaunch(0);
    auto const replayed = [&] {
        Occasions next(kAll, "demo", "h");
        for (auto const& record : story.written()) next.replay(record);
        return next.due();
    };
    EXPECT_FALSE(replayed());
    story.end(Verdict::app_bug, 1, "bug");
    ASSERT_TRUE(replayed());
    EXPECT_EQ(replayed()->state, "failed");
    RunNotice notice;
    notice.kind = kNotificationFailed;
    story.add(notice);
    EXPECT_FALSE(replayed());
}

TEST(Occasions, CausesWithoutTheirNumbers) {
    EXPECT_EQ(cause_key("rank 12 on node 3 died"), cause_key("rank 7 on node 10 died"));
    EXPECT_NE(cause_key("rank 1 died"), cause_key("rank 1 hangs"));
    EXPECT_LE(cause_key(std::string(100'000, 'x')).size(), 200u);
}

}  // namespace
}  // namespace osora::daemon
