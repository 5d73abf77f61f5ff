// Figures of a run's report against numbers worked out by hand from demo_run.hpp.
#include "cli/report/report_render.hpp"
#include "tests/unit/cli/report/demo_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::cli::test {
namespace {

using namespace db::analysis;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

PhaseRow phase(RunReport const& report, std::string const& name) {
    for (auto const& row : report.phases) {
        if (row.name == name) return row;
    }
    return {};
}

// 120 steps, 20 warm up; steps 20..119: image steps 21, 24, ... 117 = 33, video steps 67. The
// wiggle is symmetric, so the buckets' medians are 0.3 and 0.5 s; the median of all is 0.5 minus a
// bit.
TEST(RunReportTest, ComparesWithThePlan) {
    auto const report = report_of({.number = 41});
    EXPECT_EQ(report.measured.warmup_steps, 20);
    EXPECT_EQ(report.measured.steps_used, 100);
    double const mix = (33 * 0.3 + 67 * 0.5) / 100;
    EXPECT_NEAR(report.step_s.measured, mix, 1e-9);
    EXPECT_NEAR(report.step_s.ratio(), 0.42 / mix, 1e-9);
    EXPECT_NEAR(report.samples_per_s.measured, (33 * 16 + 67 * 4) / (33 * 0.3 + 67 * 0.5), 1e-9);
    EXPECT_NEAR(report.memory_gib.measured, 1.3e9 / (1 << 30), 1e-6);
    EXPECT_FALSE(report.outside_expected);
    EXPECT_EQ(report.state.word, "ok");
    EXPECT_EQ(report.commit.substr(0, 4), "0123");
}

TEST(RunReportTest, SaysOnlyWhatIsKnownOfAUserProgram) {
    auto report =
        report_of({.number = 41, .job = "exec", .ranks_per_node = 2, .loaders = 3, .cpus = 2});
    EXPECT_EQ(report.run.run.arch, "");
    EXPECT_EQ(report.cores.text, "2 ranks x 1 thread on 2 cores of n0");
    EXPECT_FALSE(report.cores.shared);
    EXPECT_TRUE(std::isnan(phase(report, "step").predicted_s));
    EXPECT_TRUE(std::isnan(report.step_s.predicted));
    EXPECT_TRUE(std::isnan(report.memory_gib.predicted));
    report.measured.samples_per_s = NAN;
    report.memory_gib.measured = 3.0 / 1024;
    auto const text = render(report, ReportFormat::text);
    EXPECT_THAT(text, HasSubstr("· exec · ok"));
    EXPECT_THAT(text, HasSubstr("peak 3.00 MiB a rank\n"));
    EXPECT_THAT(text, Not(HasSubstr("samples/s")));
    auto const markdown = render(report, ReportFormat::md);
    EXPECT_THAT(markdown, HasSubstr("- exec, 2 ranks on 1 node"));
    EXPECT_THAT(markdown, Not(HasSubstr("samples/s")));
    auto const json = render(report, ReportFormat::json);
    EXPECT_THAT(json, HasSubstr("\"arch\":\"\""));
    EXPECT_THAT(json, HasSubstr("\"samples_per_s\":null"));
}

TEST(RunReportTest, TheHistoryHasNoModelOfAUserProgram) {
    auto const store = history_of({{.number = 41, .job = "exec"}, {.number = 42}});
    EXPECT_EQ(db::find_run(*store, "41").value().arch, "");
    EXPECT_EQ(db::find_run(*store, "42").value().arch, "stdit3-tiny");
}

TEST(RunReportTest, SplitsTheStep) {
    auto const report = report_of({.number = 42,
                                   .ranks_per_node = 2,
                                   .comm_share = 0.1,
                                   .wait_share = 0.2,
                                   .data_share = 0.05});
    EXPECT_NEAR(phase(report, "data wait").share, 0.05, 1e-9);
    EXPECT_NEAR(phase(report, "forward").share, 0.3 * 0.65, 1e-9);
    EXPECT_NEAR(phase(report, "compute").share, 0.98 * 0.65, 1e-9);
    EXPECT_NEAR(phase(report, "exposed comm").share, 0.1, 1e-9);
    EXPECT_NEAR(phase(report, "wait for ranks").share, 0.2, 1e-9);
    EXPECT_NEAR(phase(report, "other").share, 0.02 * 0.65, 1e-9);
    double sum = 0;
    for (auto const& row : report.phases) {
        if (!row.part_of_compute && row.name != "step") sum += row.share;
    }
    EXPECT_NEAR(sum, 1, 1e-9);
}

// Image steps: 16 samples of 0.5 x 4,096 GFLOP and 16 tokens; video steps: 4 of 8 times as much.
TEST(RunReportTest, SaysHowMuchOfTheGpuIsUsed) {
    auto const report = report_of(
        {.number = 41, .gflop_per_pixel = 0.5, .device = "cuda:0, NVIDIA H200, NCCL 2.28.9"});
    double const seconds = 33 * 0.3 + 67 * 0.5, images = 33 * 16 + 67 * 4 * 8;
    EXPECT_NEAR(report.work.flop_per_s, 2048e9 * images / seconds, 1e6);
    EXPECT_NEAR(report.work.tokens_per_s, 16 * images / seconds, 1e-6);
    // 126 of 989 TFLOP/s.
    EXPECT_THAT(render(report, ReportFormat::text), HasSubstr("126 TFLOP/s a rank · MFU 12.7 %"));
    EXPECT_THAT(render(report, ReportFormat::text), HasSubstr("985 tokens/s"));
    EXPECT_THAT(render(report, ReportFormat::json), HasSubstr("\"mfu\":1.27"));

    auto const on_cpu = report_of({.number = 41, .gflop_per_pixel = 0.5});
    EXPECT_THAT(render(on_cpu, ReportFormat::text), HasSubstr("126 TFLOP/s a rank · 985 tokens/s"));
    EXPECT_THAT(render(on_cpu, ReportFormat::json), HasSubstr("\"mfu\":null"));
    auto const unknown = report_of({.number = 41, .device = "cuda:0, NCCL 2.28.9"});
    EXPECT_EQ(render(unknown, ReportFormat::text).find("FLOP/s"), std::string::npos);
}

TEST(RunReportTest, NamesBucketsAsThePlanDoes) {
    auto const report = report_of({.number = 41});
    ASSERT_EQ(report.buckets.size(), 2u);
    auto const& image =
        report.buckets[0].measured.bucket == "64x64x1" ? report.buckets[0] : report.buckets[1];
    EXPECT_EQ(image.measured.steps, 33);
    EXPECT_NEAR(image.measured.step_s_median, 0.3, 1e-9);
    // Deviations of 0, 0.5 and 1 %: of the 33, 13 at 0.5 %, 7 at 0... the median one is 0.5 %.
    EXPECT_NEAR(image.measured.step_s_mad, 0.005 * 0.3, 1e-9);
    EXPECT_NEAR(image.step_s.predicted, 0.28, 1e-9);
    EXPECT_NEAR(image.samples_per_s, 16 / 0.3, 1e-6);
}

// Killed at step 112 after a checkpoint at 100: 12 steps are done twice.
TEST(RunReportTest, ReportsRelaunches) {
    auto const report = report_of({.number = 42, .ranks_per_node = 2, .killed_at = 112});
    ASSERT_EQ(report.relaunches.size(), 1u);
    EXPECT_EQ(report.relaunches[0].start_step, 100);
    EXPECT_THAT(report.relaunches[0].cause, HasSubstr("rank 1 on node 0 was killed by signal 9"));
    // 0.1 s to stop, 0.5 s to the order, 2 x 0.2 s to start.
    EXPECT_NEAR(report.relaunches[0].down_s, 1.0, 1e-6);
    EXPECT_EQ(report.measured.steps_repeated, 12);
    EXPECT_EQ(report.measured.steps, 120);
    EXPECT_EQ(report.checkpoints.count, 2);
    EXPECT_NEAR(report.checkpoints.median_s, 0.06, 1e-9);
}

TEST(RunReportTest, TellsAskedRelaunchesFromThoseAfterFaults) {
    EXPECT_FALSE(report_of({.number = 42, .killed_at = 112}).relaunches.at(0).asked);
    auto const report = report_of({.number = 42, .killed_at = 112, .asked = true});
    ASSERT_EQ(report.relaunches.size(), 1u);
    EXPECT_TRUE(report.relaunches[0].asked);
    EXPECT_EQ(report.relaunches[0].cause, "relaunch asked by alice: new driver");
    EXPECT_NEAR(report.relaunches[0].down_s, 0.8, 1e-6);  // as above, one rank starts
    EXPECT_THAT(render(report, ReportFormat::text),
                HasSubstr("0 relaunches of 3 · 1 as asked · 12 steps repeated"));
    EXPECT_THAT(render(report, ReportFormat::json), HasSubstr("\"asked\":true"));
}

TEST(RunReportTest, KeepsTheLastAndTheBestEvaluation) {
    EXPECT_EQ(report_of({.number = 41}).evaluations.count, 0);
    // Step 80 was done twice, the second time is what counts.
    auto const report =
        report_of({.number = 41, .evaluations = {{40, 0.9}, {80, 0.1}, {80, 0.5}, {120, 0.7}}});
    EXPECT_EQ(report.evaluations.count, 3);
    EXPECT_EQ(report.evaluations.last_step, 120);
    EXPECT_EQ(report.evaluations.last_loss, 0.7);
    EXPECT_EQ(report.evaluations.best_step, 80);
    EXPECT_EQ(report.evaluations.best_loss, 0.5);
    EXPECT_EQ(report.evaluations.samples, 64);
}

TEST(RunReportTest, GathersNotices) {
    auto const report = report_of({.number = 41, .skipped_clips = 3});
    ASSERT_EQ(report.notices.size(), 1u);
    EXPECT_EQ(report.notices[0].count, 3);
    EXPECT_EQ(report.notices[0].kind, "clip_skipped");
}

TEST(RunReportTest, AdvisesOnlyWhatTheFiguresSay) {
    EXPECT_THAT(report_of({.number = 41}).next, IsEmpty());
    EXPECT_THAT(report_of({.number = 41, .predicted_s = 0.2}).next,
                ElementsAre(HasSubstr("osora plan calibrate")));
    EXPECT_THAT(report_of({.number = 41, .data_share = 0.3}).next,
                ElementsAre(HasSubstr("--set data.num_workers=2")));
}

TEST(RunStateTest, KnowsALostController) {
    db::RunRecord run;
    run.number = 7;
    EXPECT_EQ(state_of(run, {.controller_alive = true}).word, "running");
    auto const lost = state_of(run, {.controller_alive = false});
    EXPECT_EQ(lost.word, "controller_lost");
    EXPECT_THAT(lost.cause, HasSubstr("osora resume 7 continues"));
    EXPECT_THAT(state_of(run, {.folder_exists = false}).cause, HasSubstr("folder is gone"));
    run.ended_us = 5;
    run.verdict = protocol::Verdict::oom;
    EXPECT_EQ(state_of(run, {.controller_alive = true}).word, "oom");
}

// The words of osora status.
TEST(RunStateTest, SaysHowARunEndedAsStatusDoes) {
    using protocol::Verdict;
    auto const word_of = [](Verdict verdict) {
        db::RunRecord run;
        run.ended_us = 5;
        run.verdict = verdict;
        return state_of(run, {}).status;
    };
    EXPECT_EQ(word_of(Verdict::ok), "done");
    EXPECT_EQ(word_of(Verdict::cancelled), "stopped");
    EXPECT_EQ(word_of(Verdict::preempted), "stopped");
    EXPECT_EQ(word_of(Verdict::oom), "failed");
    EXPECT_EQ(state_of({}, {.controller_alive = true}).status, "running");
    EXPECT_EQ(state_of({}, {}).status, "lost");
    auto const failed = report_of({.number = 41, .end = {Verdict::oom, 1, "it did not fit"}});
    EXPECT_THAT(render(failed, ReportFormat::json),
                HasSubstr("\"state\":\"failed\",\"verdict\":\"oom\""));
}

TEST(CoreUseTest, CountsThreadsAgainstCores) {
    auto const cores_of = [](DemoRun const& run) { return report_of(run).cores; };
    EXPECT_FALSE(cores_of({.ranks_per_node = 2, .loaders = 0, .cpus = 2}).shared);
    auto const crowded = cores_of({.ranks_per_node = 2, .loaders = 1, .cpus = 2});
    EXPECT_TRUE(crowded.shared);
    EXPECT_EQ(crowded.text, "2 ranks x (1 thread + 1 loader) on 2 cores of n0");
    EXPECT_FALSE(cores_of({.ranks_per_node = 1, .loaders = 3, .cpus = 2}).shared);  // one rank
    EXPECT_FALSE(cores_of({.nodes = 4, .ranks_per_node = 1, .loaders = 1, .cpus = 2}).shared);
}

TEST(FindRunTest, ByNumberNameSeriesAndUuid) {
    auto const store = history_of({{.number = 41}, {.number = 42}, {.number = 7, .series = "vae"}});
    for (std::string const wanted :
         {"42", "demo-0042", "demo", "00000000-0000-4000-8000-000000000042"}) {
        auto const found = db::find_run(*store, wanted);
        ASSERT_TRUE(found.has_value()) << found.error().message;
        EXPECT_EQ(found->number, 42) << wanted;
    }
    auto const typo = db::find_run(*store, "demo-004");
    ASSERT_TRUE(typo.has_error());
    EXPECT_EQ(typo.error().code, Errc::not_found);
    EXPECT_THAT(typo.error().message, HasSubstr("did you mean demo-0041?"));
    EXPECT_EQ(db::find_run(*store, "0000-00").error().code, Errc::not_found);
    EXPECT_EQ(db::find_run(*store, "00000000-").error().code, Errc::invalid_input);
    EXPECT_THAT(db::load_series(*store, "dmo").error().message, HasSubstr("did you mean demo?"));
}

TEST(ListRunsTest, FindsTextAnywhere) {
    auto const store = history_of(
        {{.number = 41}, {.number = 42, .arch = "mmdit-tiny"}, {.number = 7, .series = "vae"}});
    auto const numbers = [&](std::string const& text, int limit) {
        std::vector<int> found;
        for (auto const& run : db::list_runs(*store, text, limit).value()) {
            found.push_back(run.run.number);
        }
        return found;
    };
    EXPECT_THAT(numbers("", 10), ElementsAre(42, 41, 7));
    EXPECT_THAT(numbers("", 2), ElementsAre(42, 41));
    EXPECT_THAT(numbers("MMDIT", 10), ElementsAre(42));
    EXPECT_THAT(numbers("vae", 10), ElementsAre(7));
    EXPECT_THAT(numbers("0123456789abc", 10), ElementsAre(42, 41, 7));
    EXPECT_THAT(numbers("%", 10), IsEmpty());
}

}  // namespace
}  // namespace osora::cli::test
