// osora report --predictions: errors of step times computed by hand.
#include "cli/report/predictions_text.hpp"
#include "protocol/json.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace osora::cli {
namespace {

using db::analysis::prediction_report;
using db::analysis::RunSummary;
using testing::HasSubstr;

RunSummary run(std::int64_t number, double predicted_s, double measured_s, double stated) {
    RunSummary summary;
    summary.run.number = number;
    summary.run.name = "base-" + std::to_string(number);
    summary.run.ranks = 4;
    summary.run.nodes = 2;
    summary.plan.emplace();
    summary.plan->chosen.tp_size = 2;
    summary.plan->chosen.dp_size = 2;
    summary.plan->chosen.zero_stage = 1;
    summary.plan->predicted.step_time_s = predicted_s;
    summary.plan->predicted.step_time_error = stated;
    summary.measured.emplace();
    summary.measured->steps_used = 100;
    summary.measured->step_s_mix = measured_s;
    return summary;
}

// From step 60 on a [[stage]] trains other buckets: the plan says nothing about those steps.
TEST(Predictions, RunsThatReachedAStageAreLeftOut) {
    auto before = run(1, 0.9, 1.0, 0.15), after = run(2, 0.9, 2.5, 0.15);
    before.plan->chosen.first_stage_step = after.plan->chosen.first_stage_step = 60;
    before.measured->next_step = 60;
    after.measured->next_step = 61;
    auto const report = prediction_report({after, before});
    ASSERT_EQ(report.rows.size(), 1u);
    EXPECT_EQ(report.rows[0].number, 1);
    EXPECT_NEAR(report.worst_error, 0.1, 1e-12);
}

TEST(Predictions, ErrorsAreRelativeToTheMeasurement) {
    auto cut_off = run(4, 1, 2, 0.1);
    cut_off.measured->steps_used = 1;
    auto no_plan = run(5, 1, 2, 0.1);
    no_plan.plan.reset();
    auto shares_tokens = run(3, 1.1, 1.0, 0.15);
    shares_tokens.plan->chosen.sp_size = 4;
    shares_tokens.plan->chosen.sp_kind = "ring";
    auto const report = prediction_report(
        {shares_tokens, run(2, 0.8, 1.0, 0.15), run(1, 2.0, 2.0, std::nan("")), cut_off, no_plan});
    ASSERT_EQ(report.rows.size(), 3u);
    EXPECT_EQ(report.rows[0].layout, "tp 2 · sp 4 ring · dp 2 · ZeRO 1");
    EXPECT_EQ(report.rows[1].layout, "tp 2 · dp 2 · ZeRO 1");
    EXPECT_NEAR(report.mean_error, 0.1, 1e-12);
    EXPECT_NEAR(report.median_error, 0.1, 1e-12);
    EXPECT_NEAR(report.worst_error, 0.2, 1e-12);
    EXPECT_EQ(report.worst_run, 2);
    EXPECT_EQ(report.with_stated_error, 2u);
    EXPECT_EQ(report.covered, 1u);
    std::string const text = render(report, ReportFormat::text);
    EXPECT_THAT(text, HasSubstr("step times of 3 runs: mean error 10 %, median 10 %, worst 20 % "
                                "(run 2)\n1 of 2 within the error that their plans stated\n"));
    EXPECT_THAT(render(report, ReportFormat::csv), HasSubstr("\n3,base-3,4,"));
    auto const json = protocol::parse_json(render(report, ReportFormat::json)).value();
    EXPECT_EQ(json.at("kind"), "predictions");
    EXPECT_EQ(json.at("runs").as_array().size(), 3u);
    EXPECT_TRUE(json.at("runs").at(2).at("step_time_error").is_null());
}

TEST(Predictions, AnEmptyHistorySaysSo) {
    auto const report = prediction_report({});
    EXPECT_TRUE(std::isnan(report.mean_error));
    EXPECT_THAT(render(report, ReportFormat::text), HasSubstr("no run has a plan"));
    EXPECT_TRUE(protocol::parse_json(render(report, ReportFormat::json)).has_value());
}

}  // namespace
}  // namespace osora::cli
