// The metrics of a run from its events, and what a request for them gets. The whole text is in
// tests/data/metrics; openmetrics_test.py has it read by Prometheus' own parser.
#include "daemon/metrics/run_metrics.hpp"
#include "daemon/metrics/metrics_page.hpp"
#include "tests/kit/program.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::daemon {
namespace {

using namespace protocol;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kStart_us = 1'767'225'600'000'000;

/// A run of `nodes` nodes with 2 ranks each.
class MetricsOfARun : public testing::Test {
protected:
    void begin(int nodes) {
        RunSubmitted submitted;
        submitted.run_uuid = "0e7f";
        submitted.run_name = "demo-0007";
        submitted.number = 7;
        submitted.job = "train";
        submitted.user = "ada \"the\" \\first\n";
        submitted.steps = 100;
        submitted.nodes = nodes;
        submitted.ranks_per_node = 2;
        add(submitted);
        add(PlanChosen{});
        add(ControllerStarted{"h0", "b", 1, 0, 0});
        for (int node = 0; node < nodes; ++node) {
            AgentJoined joined;
            joined.node = node;
            joined.host = fmt::format("h{}", node);
            add(joined);
        }
        launch(0, 2 * nodes);
    }
    void launch(int attempt, int ranks) {
        add(LaunchOrdered{attempt, ranks, "h0", 1});
        for (int rank = 0; rank < ranks; ++rank) {
            RankStarted started;
            started.attempt = attempt;
            started.node = rank / 2;
            started.rank = rank;
            add(started);
        }
    }
    /// Of all ranks, or of one node: a record of its own.
    void step(int attempt, int step, double step_s, int first_node, int nodes) {
        auto const column = [&](double mean, double max) {
            return MetricColumn{{mean}, {mean}, {max}, {2 * first_node}};
        };
        MergedSteps steps;
        steps.attempt = attempt;
        steps.step0 = step;
        steps.ranks = {2 * nodes};
        steps.samples = {4 * nodes};
        steps.bucket = {"64x64x8"};
        steps.columns = {
            {"step_time_s", column(step_s, step_s)}, {"data_wait_s", column(0.125, 0.25)},
            {"forward_s", column(0.25, 0.25)},       {"loss", column(0.5, 0.5)},
            {"rss_bytes", column(1e9, 2e9)},         {"peak_allocated_bytes", column(3e9, 4e9)},
            {"alloc_retries", column(0.5, 1)}};
        std::vector<NodeReport> reports;
        for (int node = first_node; node < first_node + nodes; ++node) {
            reports.push_back(
                {.node = node, .next_step = step + 1, .step_time_s = step_s, .rss_bytes = 2e9});
        }
        put_nodes(steps, reports);
        add(steps);
    }
    void add(RunEvent event) {
        wall_us_ += 1'000'000;
        metrics_.take({sequence_++, wall_us_, std::move(event)});
    }
    void add_probe(int nodes) {
        auto probe = topology::ProbeResult{};
        for (int node = 0; node < nodes; ++node) probe.nodes.push_back(fmt::format("h{}", node));
        for (int to = 1; to < nodes; ++to) {
            for (std::int64_t const size : {1 << 10, 1 << 20}) {
                probe.pairs.push_back({.stage = topology::ProbeStage::matching,
                                       .from = 0,
                                       .to = to,
                                       .transport = "tcp",
                                       .interface = "",
                                       .size_bytes = size,
                                       .seconds = 0.001 * to});
            }
        }
        add(ProbePart{0, 0, to_json(probe)});
    }
    void add_collectives(int node) {
        CollectiveSums sums;
        sums.node = node;
        sums.sums.push_back(
            {.bucket = "64x64x8",
             .warmup = false,
             .rank_steps = 10,
             .cost = {"gradients all_reduce", "all_reduce", "gloo", 4, 10, 1 << 20, 1.5, 0.5}});
        add(sums);
    }
    /// The whole story of the golden files.
    void tell() {
        begin(2);
        add_probe(2);
        for (int i = 0; i < 3; ++i) step(0, i, 0.5, 0, 2);
        step(0, 3, 0.5, 0, 1);
        step(0, 3, 0.625, 1, 1);
        add_collectives(0);
        add_collectives(1);
        add(CheckpointCompleted{0, 3, "checkpoint-3", 1.0, 1000});
        RunNotice sag;
        sag.kind = "throughput_sag";
        add(sag);
    }
    [[nodiscard]] std::string text(MetricsFormat format = MetricsFormat::open_metrics) const {
        return metrics_text(metrics_.families(), metrics_.labels(), format);
    }
    /// The value of a sample by its name and labels after the common ones; "" when it has none.
    [[nodiscard]] std::string value(std::string const& name, std::string const& labels = "") const {
        auto const all = text();
        auto const start =
            fmt::format("\n{}{{run=\"7\",name=\"demo-0007\",series=\"demo\"{}}} ", name, labels);
        auto const at = all.find(start);
        if (at == std::string::npos) return "";
        auto const begin = at + start.size();
        return all.substr(begin, all.find('\n', begin) - begin);
    }

    RunMetrics metrics_{
        {.series = "demo", .model = "stdit3-tiny", .backend = "local", .version = "0.1.0"}};

private:
    std::int64_t wall_us_ = kStart_us;
    std::uint64_t sequence_ = 0;
};

TEST_F(MetricsOfARun, TheWholeText) {
    tell();
    std::string const folder = OSORA_SOURCE_DIR "/tests/data/metrics/";
    EXPECT_EQ(text(), tests::content_of(folder + "run.openmetrics"));
    EXPECT_EQ(text(MetricsFormat::prometheus), tests::content_of(folder + "run.prometheus"));
}

TEST_F(MetricsOfARun, OfAUserProgramThereIsNoModel) {
    RunSubmitted submitted;
    submitted.run_uuid = "0e7f";
    submitted.job = "exec";
    submitted.nodes = submitted.ranks_per_node = 1;
    add(submitted);
    EXPECT_THAT(text(), HasSubstr("model=\"\""));
    EXPECT_THAT(text(), Not(HasSubstr("stdit3")));
}

TEST_F(MetricsOfARun, BeforeAnythingIsKnown) {
    auto const nothing = text();
    EXPECT_THAT(nothing, HasSubstr("osora_run_state"));
    EXPECT_THAT(nothing, Not(HasSubstr("\nosora_step_seconds")));
    EXPECT_THAT(nothing, Not(HasSubstr("osora_steps_planned")));
    EXPECT_THAT(nothing, testing::EndsWith("\n# EOF\n"));
}

TEST_F(MetricsOfARun, AStepInTwoRecordsCountsOnceAndItsRanksAllCount) {
    begin(2);
    step(0, 0, 0.5, 0, 1);
    step(0, 0, 0.625, 1, 1);
    EXPECT_EQ(value("osora_step_seconds_count"), "1");
    EXPECT_EQ(value("osora_phase_seconds_count", ",phase=\"forward\""), "4");
    EXPECT_EQ(value("osora_phase_seconds_sum", ",phase=\"forward\""), "1");
}

TEST_F(MetricsOfARun, ARelaunchMovesTheStepBackAndNoCounter) {
    begin(1);
    for (int i = 0; i < 5; ++i) step(0, i, 0.5, 0, 1);
    EXPECT_EQ(value("osora_step"), "5");
    RankFailed failed;
    failed.signal = 9;
    add(failed);
    add(NodeStopped{0, 0, 0, false});
    launch(1, 2);
    EXPECT_EQ(value("osora_loss"), "") << "of a step that is done again";
    for (int i = 2; i < 4; ++i) step(1, i, 0.5, 0, 1);
    step(0, 5, 0.5, 0, 1);  // late
    EXPECT_EQ(value("osora_step"), "4");
    EXPECT_EQ(value("osora_step_seconds_count"), "7");
    EXPECT_EQ(value("osora_restarts_total"), "1");
}

TEST_F(MetricsOfARun, LargeRunsHaveNoSampleOfEachNode) {
    begin(32);
    step(0, 0, 0.5, 0, 32);
    auto const last = value("osora_node_step_seconds", ",node=\"31\",host=\"h31\"");
    EXPECT_THAT(last, testing::StartsWith("0.4999")) << "0.5 within 0.1 %";
    metrics_ = RunMetrics({.series = "demo", .model = "", .backend = "", .version = ""});
    begin(33);
    step(0, 0, 0.5, 0, 33);
    add_probe(200);
    EXPECT_EQ(value("osora_ranks"), "66");
    auto const all = text();
    EXPECT_THAT(all, Not(HasSubstr("osora_node_step_seconds")));
    EXPECT_THAT(all, HasSubstr("to=\"h199\""));  // the slowest
    EXPECT_THAT(all, HasSubstr("to=\"h136\""));
    EXPECT_THAT(all, Not(HasSubstr("to=\"h135\"")));
}

TEST_F(MetricsOfARun, DamagedRecordsAddNothing) {
    begin(1);
    MergedSteps steps;
    steps.bucket = {"a", "b"};
    steps.ranks = {1};
    steps.columns["step_time_s"] = {{-1}, {}, {HUGE_VAL}, {}};
    add(steps);
    add(ProbePart{0, 0, "no probe"});
    CollectiveSums sums;
    sums.sums.push_back({.bucket = "", .warmup = false, .rank_steps = -1, .cost = {}});
    add(sums);
    EXPECT_EQ(value("osora_step_seconds_count"), "");
    EXPECT_THAT(text(), Not(HasSubstr("osora_exposed_comm_seconds")));
}

TEST_F(MetricsOfARun, SlowerStepsAreARegressionUntilTheyAreFastAgain) {
    begin(1);
    auto const suspected = [&] {
        return value("osora_regression_state", ",osora_regression_state=\"suspected\"");
    };
    EXPECT_EQ(suspected(), "0");
    RunNotice notice;
    notice.kind = "throughput_sag";
    add(notice);
    EXPECT_EQ(suspected(), "1");
    notice.kind = "throughput_back";
    add(notice);
    EXPECT_EQ(suspected(), "0");
}

TEST(MetricsPage, AnswersItsPageOnly) {
    auto const names = names_for({"127.0.0.1", 9464}, "h0");
    auto const ask = [&](WebRequest const& request, WebNames const* known) {
        return answer_metrics(request, known, [](MetricsFormat format) {
            return std::string(format == MetricsFormat::prometheus ? "old" : "new");
        });
    };
    WebRequest request{.method = "GET", .target = "/metrics?x=1", .host = "localhost:9464"};
    auto const got = ask(request, &names);
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(got.type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    EXPECT_EQ(got.body, "new");
    request.accept = "text/plain";
    EXPECT_EQ(ask(request, &names).body, "old");
    EXPECT_EQ(ask(request, &names).type, "text/plain; version=0.0.4; charset=utf-8");
    for (char const* target : {"/", "/metrics/x", "/metric", "/Metrics", "//metrics"}) {
        request.target = target;
        auto const missing = ask(request, &names);
        EXPECT_EQ(missing.status, 404) << target;
        EXPECT_THAT(missing.body, HasSubstr("/metrics"));
    }
    request.target = "metrics";
    EXPECT_EQ(ask(request, &names).status, 400);
    request = {.method = "POST", .target = "/metrics", .host = "localhost"};
    EXPECT_EQ(ask(request, &names).status, 405);
    request = {.method = "HEAD", .target = "/metrics", .host = "evil.example"};
    EXPECT_EQ(ask(request, &names).status, 403);
    EXPECT_EQ(ask(request, nullptr).status, 200) << "not on loopback";
    request.host = "localhost";
    EXPECT_EQ(ask(request, &names).status, 200);
}

}  // namespace
}  // namespace osora::daemon
