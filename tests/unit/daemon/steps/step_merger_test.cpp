// Chunks of nodes in any order and cut anywhere: every rank of a step is in the records once.
#include "daemon/steps/step_merger.hpp"

#include "protocol/run_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace osora::daemon {
namespace {

using namespace protocol;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using std::chrono_literals::operator""s;

MetricChunk chunk(int node, int step0, int steps, double value) {
    MetricChunk made;
    made.attempt = 1;
    made.node = node;
    made.ranks = 2;
    made.step0 = step0;
    auto const count = static_cast<std::size_t>(steps);
    made.bucket.assign(count, "8x8x1");
    made.samples.assign(count, 16);
    std::vector const values(count, value);
    made.columns["loss"] = {values, values, values, std::vector(count, 2 * node)};
    return made;
}

TEST(StepMerger, AStepWaitsForTheNodesThatReportSteps) {
    StepMerger merger(2);
    merger.begin(1);
    merger.add(chunk(0, 0, 2, 1.0), 0, 1s);
    EXPECT_THAT(merger.take(false), SizeIs(1)) << "no other node has reported any";
    EXPECT_EQ(merger.oldest(), kNever);
    merger.add(chunk(1, 0, 4, 3.0), 0, 2s);
    auto const rest = merger.take(false);
    ASSERT_THAT(rest, SizeIs(1));
    EXPECT_THAT(rest[0].ranks, ElementsAre(2, 2)) << "node 0 has reported them before";
    EXPECT_THAT(rest[0].next_steps, ElementsAre(2));
    EXPECT_EQ(rest[0].first_node, 1);
    EXPECT_EQ(merger.oldest(), 2s);
    EXPECT_THAT(merger.take(false), IsEmpty());
    merger.add(chunk(0, 2, 1, 1.0), 0, 3s);
    auto const whole = merger.take(false);
    ASSERT_THAT(whole, SizeIs(1));
    EXPECT_THAT(whole[0].ranks, ElementsAre(4));
    EXPECT_THAT(whole[0].samples, ElementsAre(32));
    EXPECT_THAT(whole[0].columns.at("loss").mean, ElementsAre(2.0));
    EXPECT_THAT(whole[0].columns.at("loss").argmax, ElementsAre(2));
    EXPECT_THAT(whole[0].reported_by, IsEmpty());
    EXPECT_THAT(whole[0].next_steps, ElementsAre(3, 3));
    EXPECT_THAT(merger.take(true), SizeIs(1)) << "step 3 of node 1";
}

/// Nodes report at different times of a second, and one had to be written early.
TEST(StepMerger, EarlyRecordsHoldNothingUpLater) {
    constexpr int kNodes = 16;
    StepMerger merger(2);
    merger.begin(1);
    std::size_t records = 0;
    for (int second = 0; second < 60; ++second) {
        for (int node = 0; node < kNodes; ++node) {
            // A step ends when half of them have already reported.
            int const step0 = std::max(0, second + (node < kNodes / 2 ? 0 : 1) - 1);
            bool const is_first = second == 0 && node < kNodes / 2;
            if (!is_first) merger.add(chunk(node, step0, 1, 1.0), step0, 0s);
            records += merger.take(second == 20 && node == 3).size();
        }
    }
    EXPECT_LE(records, 60u + kNodes + 3u) << "one a second, but for the start and the early one";
    EXPECT_LE(merger.rows(), 1u);
}

TEST(StepMerger, FiguresThatNotAllReportKeepTheirCount) {
    StepMerger merger(2);
    merger.begin(1);
    auto silent = chunk(1, 0, 2, 0);
    silent.columns["step_time_s"] = std::exchange(silent.columns["loss"], {});
    silent.columns.erase("loss");
    merger.add(chunk(0, 0, 2, 1.0), 0, 0s);
    merger.add(silent, 0, 0s);
    auto const records = merger.take(false);
    ASSERT_THAT(records, SizeIs(1));
    EXPECT_THAT(records[0].ranks, ElementsAre(4, 4));
    EXPECT_THAT(records[0].reported_by.at("loss"), ElementsAre(2, 2));
    auto const loss = summary_of(records[0], "loss", records[0].columns.at("loss"), 1);
    EXPECT_EQ(loss.n, 2);
    EXPECT_EQ(loss.mean, 1.0);
    merger.add(chunk(0, 2, 1, 1.0), 0, 0s);
    EXPECT_FALSE(merger.take(true).at(0).columns.contains("step_time_s"));
}

TEST(StepMerger, NamesOfFiguresDoNotPileUp) {
    StepMerger merger(2);
    merger.begin(1);
    for (int i = 0; i < 1000; ++i) {
        auto odd = chunk(0, i, 1, 1.0);
        odd.columns[std::to_string(i)] = odd.columns["loss"];
        merger.add(odd, 0, 0s);
    }
    for (auto const& each : merger.take(true)) {
        EXPECT_LE(each.columns.size(), StepMerger::kFiguresMax);
    }
}

/// The content of the records for each step, put together again.
struct Sums {
    std::map<int, FigureSummary> loss;  // by step
    std::map<int, int> ranks, samples;
    std::map<int, int> reported;  // by node
};

void take(Sums& sums, std::vector<MergedSteps> const& records) {
    for (auto const& record : records) {
        EXPECT_LE(std::ssize(record.bucket), StepMerger::kRecordSteps);
        for (std::size_t i = 0; i < record.bucket.size(); ++i) {
            int const step = record.step0 + static_cast<int>(i);
            auto const& loss = record.columns.at("loss");
            sums.loss[step].merge(summary_of(record, "loss", loss, i));
            sums.ranks[step] += record.ranks[i];
            sums.samples[step] += record.samples[i];
        }
        for (auto const& node : nodes_of(record).value()) {
            EXPECT_LT(sums.reported[node.node], node.next_step);
            EXPECT_LE(node.next_step, record.step0 + std::ssize(record.bucket));
            sums.reported[node.node] = node.next_step;
        }
    }
}

TEST(StepMerger, EveryRankOfEveryStepIsReportedOnce) {
    for (unsigned seed = 0; seed < 50; ++seed) {
        std::mt19937 random(seed);
        auto const pick = [&](int below) { return static_cast<int>(random() % below); };
        constexpr int kNodes = 5, kSteps = 400;
        StepMerger merger(2);
        merger.begin(1);
        Sums sums;
        std::vector<int> next(kNodes, 0);
        std::map<int, FigureSummary> expected;
        while (std::ranges::min(next) < kSteps) {
            int const node = pick(kNodes);
            int& step = next[static_cast<std::size_t>(node)];
            // Some start again before what was taken: that part must not count twice.
            int const again = std::min(step, pick(4));
            int const steps = std::min(1 + again + pick(150), kSteps - step + again);
            double const value = pick(1000);
            merger.add(chunk(node, step - again, steps, value), step, 0s);
            for (int i = step; i < step - again + steps; ++i) {
                expected[i].merge({2, value, value, value, 2 * node});
            }
            step = std::max(step, step - again + steps);
            if (pick(3) == 0) take(sums, merger.take(pick(4) == 0));
        }
        take(sums, merger.take(true));
        EXPECT_EQ(merger.rows(), 0u);
        for (int node = 0; node < kNodes; ++node) {
            EXPECT_EQ(merger.taken_to(node), kSteps);
            EXPECT_EQ(sums.reported[node], kSteps) << "seed " << seed;
        }
        ASSERT_THAT(sums.ranks, SizeIs(kSteps));
        for (auto const& [step, figure] : expected) {
            EXPECT_EQ(sums.ranks[step], 2 * kNodes) << "seed " << seed << ", step " << step;
            EXPECT_EQ(sums.samples[step], 16 * kNodes);
            EXPECT_NEAR(sums.loss[step].mean, figure.mean, 1e-9);
            EXPECT_EQ(sums.loss[step].min, figure.min);
            EXPECT_EQ(sums.loss[step].max, figure.max);
            EXPECT_EQ(sums.loss[step].argmax, figure.argmax);
        }
    }
}

RunView submitted(int nodes) {
    RunView view;
    RunSubmitted event;
    event.run_uuid = "u";
    event.nodes = nodes;
    event.ranks_per_node = 2;
    event.steps = 100;
    fold(view, {0, 1, event});
    fold(view, {1, 1, PlanChosen{}});
    fold(view, {2, 1, ControllerStarted{"h", "b", 77, 0}});
    for (int node = 0; node < nodes; ++node) {
        fold(view, {0, 1, AgentJoined{node, "h", "b", 100 + node, 0, {}}});
    }
    fold(view, {0, 2, LaunchOrdered{0, 2 * nodes, "h", 1}});
    return view;
}

/// `osora watch` shows the same for merged steps as for the chunks that they were made of.
TEST(StepMerger, AViewOfTheRunIsTheSame) {
    RunView of_chunks = submitted(3), of_records = of_chunks;
    StepMerger merger(2);
    merger.begin(0);
    for (int step = 0; step < 30; ++step) {
        for (int node = 0; node < 3; ++node) {
            auto made = chunk(node, step, 1, 5.0 - 0.1 * step + node);
            made.attempt = 0;
            int const rank = 2 * node + step % 2;
            double const late_s = node == 1 ? 0.3 : 0;
            made.columns["step_time_s"] = {{1.0}, {0.9}, {1.1 + 0.01 * node}, {rank}};
            made.columns["arrival_s"] = {{0.5}, {0.4}, {0.6 + late_s}, {rank}};
            made.columns["exposed_comm_s"] = {{0.2}, {0.1}, {0.3}, {rank}};
            made.columns["rss_bytes"] = {{2e9}, {2e9}, {3e9 + node}, {rank}};
            made.columns["peak_allocated_bytes"] = {{6e10}, {6e10}, {6.1e10 + step}, {rank}};
            fold(of_chunks, {0, 10, made});
            merger.add(made, 0, 0s);
        }
        auto const records = merger.take(false);
        ASSERT_THAT(records, SizeIs(1)) << "step " << step;
        ASSERT_TRUE(nodes_of(records[0]).has_value()) << nodes_of(records[0]).error().message;
        fold(of_records, {0, 10, records[0]});
    }
    EXPECT_EQ(of_records.steps_done, 30);
    EXPECT_NEAR(of_records.smooth_loss, of_chunks.smooth_loss, 1e-12);
    EXPECT_NEAR(of_records.last_loss, of_chunks.last_loss, 1e-12);
    EXPECT_NEAR(of_records.samples_per_s, of_chunks.samples_per_s, 1e-9);
    EXPECT_EQ(of_records.step_time_s, of_chunks.step_time_s);
    EXPECT_NEAR(of_records.rank_wait_share, of_chunks.rank_wait_share, 1e-12);
    EXPECT_EQ(of_records.peak_rss_bytes, of_chunks.peak_rss_bytes);
    EXPECT_EQ(of_records.peak_allocated_bytes, of_chunks.peak_allocated_bytes);
    ASSERT_EQ(of_records.node_views.size(), 3u);
    for (std::size_t node = 0; node < 3; ++node) {
        NodeView const& is = of_records.node_views[node];
        NodeView const& was = of_chunks.node_views[node];
        EXPECT_EQ(is.steps_done, was.steps_done);
        EXPECT_EQ(is.latest_rank, was.latest_rank);
        EXPECT_NEAR(is.step_time_s, was.step_time_s, 0.00101 * was.step_time_s);
        EXPECT_NEAR(is.arrival_s, was.arrival_s, 0.00101 * was.arrival_s);
        EXPECT_NEAR(is.exposed_comm_s, was.exposed_comm_s, 0.00101 * was.exposed_comm_s);
        EXPECT_NEAR(static_cast<double>(is.rss_bytes), static_cast<double>(was.rss_bytes), 3.1e6);
    }
    EXPECT_EQ(of_records.straggler.has_value(), of_chunks.straggler.has_value());
}

}  // namespace
}  // namespace osora::daemon
