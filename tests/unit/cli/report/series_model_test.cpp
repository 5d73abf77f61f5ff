// The scaling table against figures worked out by hand.
#include "cli/report/report_render.hpp"
#include "protocol/json.hpp"
#include "protocol/run_directory.hpp"
#include "tests/unit/cli/report/demo_run.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::cli::test {
namespace {

using namespace db::analysis;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

DemoRun run(int number, int ranks, double seconds) {
    return {.number = number,
            .ranks_per_node = ranks,
            .loaders = 0,
            .cpus = 64,
            .image_s = seconds,
            .video_s = seconds};
}

// The same global batch: efficiency is t1 n1 / (tn nn).
TEST(SeriesReportTest, StrongScaling) {
    auto const report = series_of({run(1, 1, 0.8), run(2, 2, 0.5), run(3, 4, 0.25)});
    EXPECT_EQ(report.scaling, Scaling::strong);
    EXPECT_EQ(report.held_equal, "global batch 16, 4");
    ASSERT_EQ(report.rows.size(), 3u);
    EXPECT_NEAR(report.rows[0].efficiency, 1, 1e-9);
    EXPECT_NEAR(report.rows[1].efficiency, 0.8 / (2 * 0.5), 1e-9);
    EXPECT_NEAR(report.rows[2].efficiency, 0.8 / (4 * 0.25), 1e-9);
    EXPECT_NEAR(report.rows[1].step_s, 0.5, 1e-9);
    EXPECT_NEAR(report.rows[1].predicted_over_measured, 0.42 / 0.5, 1e-9);
}

// The same batch of a rank: efficiency is t1 / tn.
TEST(SeriesReportTest, WeakScaling) {
    auto two = run(2, 2, 0.5), one = run(1, 1, 0.4);
    two.global_batch = {32, 8};
    auto const report = series_of({one, two});
    EXPECT_EQ(report.scaling, Scaling::weak);
    EXPECT_EQ(report.held_equal, "batch of a rank 16, 4");
    EXPECT_NEAR(report.rows[1].efficiency, 0.4 / 0.5, 1e-9);
}

// A stage's batch grows with the ranks, too.
TEST(SeriesReportTest, WeakScalingOfRunsWithStages) {
    auto two = run(2, 2, 0.5);
    two.global_batch = {32, 8};
    auto const store = history_of({run(1, 1, 0.4), two});
    auto runs = db::load_series(*store, "demo").value();
    for (auto& each : runs) {
        each.work["stage[0].at_step"] = "500";
        each.work["stage[0].bucket[0]"] =
            fmt::format("64 x 8, batch {}", 2 * each.summary.run.ranks);
    }
    auto report = series_report("demo", runs);
    EXPECT_EQ(report.scaling, Scaling::weak);
    EXPECT_EQ(report.held_equal, "batch of a rank 16, 4, 2");
    EXPECT_NEAR(report.rows.at(1).efficiency, 0.4 / 0.5, 1e-9);
    EXPECT_EQ(report.trends.size(), 2u);
    auto const json = protocol::json::parse(report_json(report));
    auto const& row = json.at("rows").at(1);
    EXPECT_EQ(row.at("global_batch_size"), (protocol::json::array{32, 8}));
    EXPECT_EQ(row.at("stage_batch_size"), protocol::json::array{4});
    runs[1].work["stage[0].bucket[0]"] = "64 x 8, batch 6";
    EXPECT_EQ(series_report("demo", runs).scaling, Scaling::neither);
    runs[1].work["stage[0].bucket[0]"] = "96 x 8, batch 4";
    report = series_report("demo", runs);
    EXPECT_EQ(report.rows.size(), 1u);
    EXPECT_EQ(report.left_out.at(0).reason, "other work: stage[0].bucket[0] 64 x 8 / 96 x 8");
}

// Eight ranks of tensor parallel share a sample: 4 / 8 is not 6 / 16.
TEST(SeriesReportTest, ABatchOfARankMayBeBelowOne) {
    auto eight = run(1, 8, 0.4), sixteen = run(2, 16, 0.5);
    eight.global_batch = {16, 4};
    sixteen.global_batch = {32, 8};
    auto report = series_of({eight, sixteen});
    EXPECT_EQ(report.scaling, Scaling::weak);
    EXPECT_EQ(report.held_equal, "batch of a rank 2, 0.5");
    sixteen.global_batch = {32, 6};
    report = series_of({eight, sixteen});
    EXPECT_EQ(report.scaling, Scaling::neither);
}

TEST(SeriesReportTest, RunsOnOtherGpusAreNotCompared) {
    auto h200 = run(1, 1, 0.4), a100 = run(2, 1, 0.9), two = run(3, 2, 0.2);
    a100.device = "cuda:0, NVIDIA A100-SXM4-80GB, NCCL 2.28.9";
    h200.device = two.device = "cuda:0, NVIDIA H200, NCCL 2.28.9";
    auto const report = series_of({h200, a100, two});
    ASSERT_EQ(report.rows.size(), 2u);
    EXPECT_THAT(report.rows[0].runs, ElementsAre(1));
    EXPECT_NEAR(report.rows[1].efficiency, 1, 1e-9);
    ASSERT_EQ(report.left_out.size(), 1u);
    EXPECT_EQ(report.left_out[0].number, 2);
    EXPECT_EQ(report.left_out[0].reason, "other GPU: NVIDIA A100-SXM4-80GB / NVIDIA H200");
    EXPECT_EQ(report.trends.size(), 2u);

    auto const store = history_of({h200, a100, two});
    auto const groups = run_groups(db::load_series(*store, "demo").value());
    EXPECT_EQ(groups.size(), 3u);
}

// An archive of a slower cluster with the same numbers must not look like a regression.
TEST(SeriesReportTest, ImportedRunsCountOnlyWithoutOwnOnes) {
    auto const store = history_of({run(1, 1, 0.4), run(2, 1, 0.9), run(3, 1, 0.41)});
    auto runs = db::load_series(*store, "demo").value();
    auto const bring_in = [](SeriesRun& run) {
        auto& record = run.summary.run;
        record.run_dir = "/state/runs/" + protocol::imported_folder_name(record.name, record.uuid);
    };
    bring_in(runs[1]);
    ASSERT_TRUE(db::is_imported(runs[1].summary.run));
    auto groups = run_groups(runs);
    ASSERT_EQ(groups.size(), 1u);
    EXPECT_THAT(groups[0].numbers, ElementsAre(1, 3));
    auto const report = series_report("demo", runs);
    EXPECT_THAT(report.rows.at(0).runs, ElementsAre(1, 3));
    ASSERT_EQ(report.left_out.size(), 1u);
    EXPECT_THAT(report.left_out[0].reason, HasSubstr("imported"));
    for (auto& each : runs) bring_in(each);
    groups = run_groups(runs);
    EXPECT_THAT(groups.at(0).numbers, ElementsAre(1, 2, 3));
    EXPECT_THAT(series_report("demo", runs).left_out, IsEmpty());
}

TEST(SeriesReportTest, SaysWhenNothingIsHeldEqual) {
    auto two = run(2, 2, 0.5);
    two.global_batch = {24, 4};
    auto const report = series_of({run(1, 1, 0.4), two});
    EXPECT_EQ(report.scaling, Scaling::neither);
    EXPECT_THAT(report.notes, Contains(HasSubstr("mixes batch and size")));
}

// At one rank buckets cost 0.2 and 0.6 s; at two 0.1 and 0.4 s. With one rank's mix of 33 image and
// 67 video steps: (33 x 0.2 + 67 x 0.6) / (2 x (33 x 0.1 + 67 x 0.4)).
TEST(SeriesReportTest, EfficiencyKeepsTheMixOfBuckets) {
    auto one = run(1, 1, 0.2), two = run(2, 2, 0.1);
    one.video_s = 0.6;
    two.video_s = 0.4;
    two.steps = 90;  // another mix
    auto const report = series_of({one, two});
    EXPECT_NEAR(report.rows[1].efficiency, (33 * 0.2 + 67 * 0.6) / (2 * (33 * 0.1 + 67 * 0.4)),
                1e-9);
}

// The batch of run 2's buckets changed: their medians are those of the smaller batch, 0.5 s, and
// its steps took 1 s in the mean: 0.8 / (2 x 1).
TEST(SeriesReportTest, EfficiencyCountsEveryBatchOfABucket) {
    auto const store = history_of({run(1, 1, 0.8), run(2, 2, 0.5)});
    auto runs = db::load_series(*store, "demo").value();
    EXPECT_NEAR(series_report("demo", runs).rows.at(1).efficiency, 0.8, 1e-9);
    runs[1].summary.measured->step_s_mix = 1;
    EXPECT_NEAR(series_report("demo", runs).rows.at(1).efficiency, 0.4, 1e-9);
}

TEST(SeriesReportTest, TakesTheMedianOfRunsOfOneSize) {
    auto const report =
        series_of({run(1, 1, 0.40), run(2, 1, 0.42), run(3, 1, 0.90), run(4, 2, 0.21)});
    ASSERT_EQ(report.rows.size(), 2u);
    EXPECT_THAT(report.rows[0].runs, ElementsAre(1, 2, 3));
    EXPECT_NEAR(report.rows[0].step_s, 0.42, 1e-9);
    EXPECT_NEAR(report.rows[0].mad, 0.02, 1e-9);  // between runs: 0.02, 0, 0.48
    EXPECT_NEAR(report.rows[1].efficiency, 1, 1e-9);
}

TEST(SeriesReportTest, RefusesToCompareOtherWork) {
    auto other = run(1, 1, 0.1);
    other.arch = "mmdit-tiny";
    auto const report = series_of({other, run(2, 1, 0.8), run(3, 2, 0.5)});
    EXPECT_EQ(report.rows.size(), 2u);
    ASSERT_EQ(report.left_out.size(), 1u);
    EXPECT_EQ(report.left_out[0].number, 1);
    EXPECT_EQ(report.left_out[0].reason, "other work: model.arch mmdit-tiny / stdit3-tiny");
}

TEST(SeriesReportTest, LeavesOutRunsWithTooFewSteps) {
    auto few = run(3, 2, 0.5);
    few.steps = 9;
    auto const report = series_of({run(2, 1, 0.8), few});
    EXPECT_EQ(report.rows.size(), 1u);
    EXPECT_THAT(report.left_out[0].reason, HasSubstr("7 steps after the warm-up, 10 are needed"));
    EXPECT_EQ(report.scaling, Scaling::one_size);
    EXPECT_TRUE(series_of({few}).rows.empty());
}

// Steps that a run still lacks may change its row, and the work of all rows would be the newest's.
TEST(SeriesReportTest, LeavesOutRunsInProgress) {
    auto other = run(3, 1, 0.1);
    other.arch = "mmdit-tiny";
    auto const store = history_of({run(1, 1, 0.8), run(2, 2, 0.5), other});
    auto runs = db::load_series(*store, "demo").value();
    runs[2].summary.run.ended_us.reset();
    auto report = series_report("demo", runs);
    EXPECT_EQ(report.rows.size(), 2u);
    ASSERT_EQ(report.left_out.size(), 1u);
    EXPECT_EQ(report.left_out[0].number, 3);
    EXPECT_THAT(report.left_out[0].reason, HasSubstr("in progress"));
    runs[1].summary.run.ended_us.reset();
    EXPECT_EQ(series_report("demo", runs).rows.size(), 1u);
    for (auto& each : runs) each.summary.run.ended_us.reset();
    report = series_report("demo", runs);
    EXPECT_THAT(report.rows, IsEmpty());
    EXPECT_EQ(report.left_out.size(), 3u);
}

TEST(SeriesReportTest, SaysWhenRanksShareCores) {
    auto two = run(2, 2, 0.9);
    two.cpus = 1;
    auto const report = series_of({run(1, 1, 0.8), two});
    EXPECT_TRUE(report.rows[1].shares_cores);
    EXPECT_THAT(report.notes,
                Contains(HasSubstr("ranks share cores (2 ranks x 1 thread on 1 core")));
    EXPECT_THAT(report.notes, Contains(HasSubstr("no statement about a network")));
    EXPECT_THAT(report.rows[1].loss, HasSubstr("slower computing: ranks share cores"));
    DemoRun apart{.number = 3, .nodes = 2, .loaders = 0, .image_s = 0.41, .video_s = 0.41};
    EXPECT_THAT(series_of({run(1, 1, 0.8), apart}).notes, IsEmpty());
}

TEST(SeriesReportTest, SaysWhenThreadsDiffer) {
    auto two = run(2, 2, 0.5);
    two.threads = 4;
    EXPECT_THAT(series_of({run(1, 1, 0.8), two}).notes, Contains(HasSubstr("threads of a rank")));
}

TEST(SeriesReportTest, NamesTheLargestLoss) {
    auto two = run(2, 2, 0.8);  // should be 0.4
    two.comm_share = 0.45;
    EXPECT_THAT(series_of({run(1, 1, 0.8), two}).rows[1].loss,
                HasSubstr("360 ms of the 800 ms is exposed communication"));
    two.comm_share = 0.05;
    two.wait_share = 0.45;
    EXPECT_THAT(series_of({run(1, 1, 0.8), two}).rows[1].loss,
                HasSubstr("360 ms of the 800 ms is waiting for a slower rank"));
    // Of the 480 ms of the base's communication 240 would be left, and 320 are.
    auto base = run(1, 2, 0.8), four = run(2, 4, 0.8);
    base.comm_share = 0.6;
    four.comm_share = 0.4;
    four.wait_share = 0.3;
    EXPECT_THAT(series_of({base, four}).rows[1].loss,
                HasSubstr("240 ms of the 800 ms is waiting for a slower rank"));
}

// A user program may report step times, and of the phases none or only some.
TEST(SeriesReportTest, BlamesNoPartWhenALargerOneMayBeUnknown) {
    auto const store = history_of({run(1, 1, 0.8), run(2, 2, 0.8)});
    auto runs = db::load_series(*store, "demo").value();
    auto const loss = [&] { return series_report("demo", runs).rows.at(1).loss; };
    EXPECT_THAT(loss(), HasSubstr("is slower computing"));
    auto& two = *runs[1].summary.measured;
    two.comm_share = two.wait_share = NAN;
    EXPECT_NEAR(series_report("demo", runs).rows.at(1).efficiency, 0.5, 1e-9);
    EXPECT_EQ(loss(), "")
        << "8 of the lost 400 ms are waiting for data, of the rest nothing is known";
    two.data_share = 0.6;  // 480 ms less the 8 ms of the base's data for half the samples
    EXPECT_THAT(loss(), HasSubstr("472 ms of the 800 ms is waiting for data"));
    two.data_share = NAN;
    EXPECT_EQ(loss(), "");
}

}  // namespace
}  // namespace osora::cli::test
