#include "protocol/run_view.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace osora::protocol {
namespace {

class Journal {
public:
    Journal(int nodes, int ranks_per_node, int steps) {
        RunSubmitted submitted;
        submitted.run_name = "tiny-0042";
        submitted.number = 42;
        submitted.nodes = nodes;
        submitted.ranks_per_node = ranks_per_node;
        submitted.steps = steps;
        add(submitted);
        add(PlanChosen{});
        add(ControllerStarted{"h", "b", 77, 0});
        for (int node = 0; node < nodes; ++node) add(joined(node));
        add(LaunchOrdered{0, nodes * ranks_per_node, "h", 1});
    }
    void add(RunEvent event) { fold(view, {view.records, wall_us += 1'000'000, std::move(event)}); }
    static AgentJoined joined(int node) {
        AgentJoined event;
        event.node = node;
        return event;
    }

    RunView view;
    std::int64_t wall_us = 0;
};

MetricColumn constant(std::size_t steps, double mean, double max) {
    return {std::vector(steps, mean), std::vector(steps, mean), std::vector(steps, max),
            std::vector<int>(steps, 0)};
}

MetricChunk chunk(int node, int step0, std::size_t steps, double time, double loss) {
    MetricChunk made;
    made.attempt = 0;
    made.node = node;
    made.ranks = 2;
    made.step0 = step0;
    made.bucket.assign(steps, "8x8x1");
    made.samples.assign(steps, 16);
    made.columns["step_time_s"] = constant(steps, time / 2, time);
    made.columns["loss"] = constant(steps, loss, loss);
    made.columns["data_wait_s"] = constant(steps, time / 10, time);
    made.columns["exposed_comm_s"] = constant(steps, time / 4, time);
    made.columns["rss_bytes"] = constant(steps, 1e6, 2e6 + step0);
    return made;
}

TEST(RunView, SaysWhatWasSubmitted) {
    Journal const journal(1, 2, 100);
    EXPECT_EQ(journal.view.run_name, "tiny-0042");
    EXPECT_EQ(journal.view.number, 42);
    EXPECT_EQ(journal.view.steps, 100);
    EXPECT_EQ(journal.view.controller_pid, 77);
    EXPECT_EQ(journal.view.submitted_us, 1'000'000);
    EXPECT_EQ(journal.view.began_us, 1'000'000);
    EXPECT_EQ(journal.view.status.state, RunState::launching);
    EXPECT_EQ(journal.view.steps_done, 0);
}

TEST(RunView, ARunIsSubmittedBeforeItWaitsInAQueue) {
    RunSubmitted submitted;
    submitted.submitted_us = 5'000'000;
    RunView view;
    fold(view, {0, 3'605'000'000, submitted});
    EXPECT_EQ(view.submitted_us, 5'000'000);
    EXPECT_EQ(view.began_us, 3'605'000'000);
}

TEST(RunView, RatesOfTheRecentSteps) {
    Journal journal(1, 2, 100);
    journal.add(chunk(0, 0, 10, 0.5, 2.0));
    RunView const& view = journal.view;
    EXPECT_EQ(view.steps_done, 10);
    EXPECT_DOUBLE_EQ(view.step_time_s, 0.5);
    EXPECT_DOUBLE_EQ(view.samples_per_s, 32);
    EXPECT_DOUBLE_EQ(view.eta_s, 45);
    EXPECT_NEAR(view.data_wait_share, 0.1, 1e-12);
    EXPECT_NEAR(view.exposed_comm_share, 0.25, 1e-12);
    EXPECT_EQ(view.rss_bytes, 2'000'000);
    EXPECT_DOUBLE_EQ(view.last_loss, 2.0);
    EXPECT_DOUBLE_EQ(view.smooth_loss, 2.0);
    journal.add(chunk(0, 10, 1, 0.5, 1.0));
    EXPECT_DOUBLE_EQ(view.last_loss, 1.0);
    EXPECT_NEAR(view.smooth_loss, 1.9, 1e-12);
    journal.add(chunk(0, 11, 60, 2.0, 1.0));
    EXPECT_EQ(view.recent_steps.size(), kRecentSteps);
    EXPECT_DOUBLE_EQ(view.step_time_s, 2.0);
    EXPECT_DOUBLE_EQ(view.eta_s, 58);
}

TEST(RunView, MergesTheNodesOfAStep) {
    Journal journal(2, 2, 100);
    journal.add(chunk(0, 0, 3, 0.5, 1.0));
    EXPECT_EQ(journal.view.smooth_loss, 0) << "half of the ranks are missing";
    journal.add(chunk(1, 0, 3, 0.8, 3.0));
    ASSERT_EQ(journal.view.recent_steps.size(), 3u);
    StepView const& step = journal.view.recent_steps.back();
    EXPECT_EQ(step.ranks, 4);
    EXPECT_EQ(step.samples, 32);
    EXPECT_DOUBLE_EQ(step.step_time_s, 0.8);
    EXPECT_DOUBLE_EQ(step.loss, 2.0);
    EXPECT_DOUBLE_EQ(journal.view.last_loss, 2.0);
    EXPECT_DOUBLE_EQ(journal.view.smooth_loss, 2.0);
    EXPECT_DOUBLE_EQ(journal.view.samples_per_s, 40);
}

TEST(RunView, ARelaunchStartsFromTheCheckpoint) {
    Journal journal(1, 1, 100);
    journal.add(chunk(0, 0, 10, 0.5, 2.0));
    journal.add(CheckpointCompleted{0, 8, "/c", 0.5, 100});
    std::int64_t const saved = journal.wall_us;
    RankFailed failed;
    failed.signal = 9;
    journal.add(failed);
    EXPECT_EQ(journal.view.status.state, RunState::relaunching);
    ASSERT_EQ(journal.view.rank_ends.size(), 1u);
    EXPECT_EQ(journal.view.rank_ends[0].signal, 9);
    journal.add(NodeStopped{0, 0, 0});
    journal.add(LaunchOrdered{1, 1, "h", 1});
    RankStarted started;
    started.attempt = 1;
    started.start_step = 8;
    journal.add(started);
    EXPECT_EQ(journal.view.steps_done, 8);
    EXPECT_TRUE(journal.view.recent_steps.empty());
    EXPECT_EQ(journal.view.status.checkpoint_step, 8);
    EXPECT_EQ(journal.view.checkpoint_us, saved);
    journal.add(chunk(0, 10, 1, 0.5, 2.0));
    EXPECT_EQ(journal.view.steps_done, 8) << "of the older attempt";
}

TEST(RunView, RatesOfAnAttemptEndWithIt) {
    Journal journal(1, 2, 100);
    journal.add(chunk(0, 0, 10, 0.5, 2.0));
    RunView const& view = journal.view;
    ASSERT_GT(view.step_time_s, 0);
    RankFailed failed;
    failed.signal = 9;
    journal.add(failed);
    EXPECT_DOUBLE_EQ(view.step_time_s, 0.5) << "its last steps are shown until another begins";
    journal.add(NodeStopped{0, 0, 0});
    journal.add(LaunchOrdered{1, 2, "h", 1});
    ASSERT_EQ(view.status.attempt, 1);
    EXPECT_EQ(view.step_time_s, 0);
    EXPECT_EQ(view.samples_per_s, 0);
    EXPECT_EQ(view.eta_s, 0);
    EXPECT_EQ(view.exposed_comm_share, 0);
    EXPECT_EQ(view.rss_bytes, 0);
    EXPECT_DOUBLE_EQ(view.last_loss, 2.0);
    auto fresh = chunk(0, 0, 10, 2.0, 1.0);
    fresh.attempt = 1;
    journal.add(fresh);
    EXPECT_DOUBLE_EQ(view.step_time_s, 2.0);
    EXPECT_DOUBLE_EQ(view.eta_s, 180);
}

TEST(RunView, NotANumberDoesNotStick) {
    Journal journal(1, 2, 100);
    journal.add(chunk(0, 0, 1, 0.5, 2.0));
    journal.add(chunk(0, 1, 1, 0.5, std::nan("")));
    EXPECT_TRUE(std::isnan(journal.view.last_loss));
    EXPECT_DOUBLE_EQ(journal.view.smooth_loss, 2.0);
    journal.add(chunk(0, 2, 1, 0.5, 1.0));
    EXPECT_NEAR(journal.view.smooth_loss, 1.9, 1e-12);
}

TEST(RunView, DamagedChunksAreIgnored) {
    Journal journal(1, 2, 100);
    MetricChunk bad = chunk(0, 0, 3, 0.5, 1.0);
    bad.columns["step_time_s"].max.clear();
    bad.columns.erase("loss");
    bad.samples.clear();
    journal.add(bad);
    EXPECT_EQ(journal.view.steps_done, 3);
    for (auto change :
         {+[](MetricChunk& c) { c.node = 7; }, +[](MetricChunk& c) { c.step0 = -1; },
          +[](MetricChunk& c) { c.step0 = 2'147'483'647; }, +[](MetricChunk& c) { c.ranks = 0; },
          +[](MetricChunk& c) { c.ranks = 9; }, +[](MetricChunk& c) { c.bucket.clear(); }}) {
        MetricChunk worse = chunk(0, 50, 3, 0.5, 1.0);
        change(worse);
        journal.add(worse);
        EXPECT_EQ(journal.view.steps_done, 3);
    }
}

TEST(RunView, KeepsTheNewestNoticesAndCountsAll) {
    Journal journal(1, 1, 100);
    for (int i = 0; i < 100; ++i) journal.add(RunNotice{0, 0, 0, i, "clip_skipped", "info", ""});
    EXPECT_EQ(journal.view.notices.size(), kKept);
    EXPECT_EQ(journal.view.notices.back().step, 99);
    EXPECT_EQ(journal.view.notice_counts.at("clip_skipped"), 100);
}

TEST(RunView, KeepsTheCpusOfTheRanksOfThisAttempt) {
    Journal journal(1, 2, 100);
    RankStarted started;
    started.attempt = 0;
    started.rank = 1;
    started.cpus = "2-3";
    journal.add(started);
    ASSERT_EQ(journal.view.rank_cpus.size(), 2u);
    EXPECT_EQ(journal.view.rank_cpus[1], "2-3");
    started.rank = 2'000'000'000;
    journal.add(started);
    EXPECT_EQ(journal.view.rank_cpus.size(), 2u);
    started.rank = 1;
    started.cpus = "";
    journal.add(started);
    EXPECT_EQ(journal.view.rank_cpus[1], "2-3");
}

}  // namespace
}  // namespace osora::protocol
