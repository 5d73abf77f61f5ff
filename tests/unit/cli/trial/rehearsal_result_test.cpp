// What osora rehearse prints, on a run whose figures can be worked out by hand.
#include "cli/trial/rehearsal_result.hpp"
#include "protocol/json.hpp"
#include "tests/unit/cli/report/demo_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace osora::cli::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

RehearsalResult result_of(DemoRun const& run) {
    return {.report = report_of(run),
            .compute = {{.forward_s = 0.1, .backward_s = 0.2, .optimizer_s = 0, .source = "run 7"},
                        {.forward_s = 0.1, .backward_s = 0.2, .optimizer_s = 0, .source = "run 7"}},
            .trained = {}};
}

TEST(RehearsalResult, TheStepThenItsPartsThenWhatItIsComparedWith) {
    auto result = result_of({.ranks_per_node = 2, .comm_share = 0.4, .wait_share = 0.1});
    result.trained = TrainedRun{.number = 7, .step_s = 1.0, .alike = true, .compute = {}};
    double const step_s = result.report.measured.step_s_median;
    auto const text = rehearsal_text(result);
    EXPECT_THAT(text, StartsWith("step     498 ± 5 ms (median"));
    EXPECT_THAT(text, HasSubstr("own work as of: run 7\n"));
    EXPECT_THAT(text, HasSubstr("(40 %) exposed; "));
    EXPECT_THAT(text, HasSubstr("\nexpected 420 ms by the plan"));
    EXPECT_THAT(text, HasSubstr("\ntrained  1.00 s in run 7; the rehearsal took 0.50 of it\n"));
    EXPECT_THAT(text, HasSubstr("\nnext     osora report 41\n"));

    auto const json = protocol::parse_json(rehearsal_json(result));
    ASSERT_TRUE(json.has_value());
    EXPECT_EQ(json->at("schema"), "osora.rehearse/1");
    EXPECT_EQ(json->at("step_s").to_number<double>(), step_s);
    EXPECT_EQ(json->at("trained").at("rehearsed_over_trained").to_number<double>(), step_s);
    auto const split = rehearsal_split(result.report);
    double const sum =
        split.compute_s + split.exposed_comm_s + split.wait_s + split.data_wait_s + split.other_s;
    auto const mean =
        std::ranges::find(result.report.phases, "step", &db::analysis::PhaseRow::name)->mean_s;
    EXPECT_NEAR(sum, mean, 1e-9);
}

TEST(RehearsalResult, ARunOfAnotherSizeIsNoMeasure) {
    auto result = result_of({.ranks_per_node = 2});
    result.trained = TrainedRun{.number = 7, .step_s = 1.0, .alike = false, .compute = {}};
    EXPECT_THAT(rehearsal_text(result), HasSubstr("in run 7, of another size"));
    auto const json = protocol::parse_json(rehearsal_json(result));
    EXPECT_TRUE(json->at("trained").at("rehearsed_over_trained").is_null());
}

TEST(RehearsalResult, OneRankHasNoCommunication) {
    auto const text = rehearsal_text(result_of({.ranks_per_node = 1}));
    EXPECT_THAT(text, Not(HasSubstr("\ncomm ")));
}

TEST(RehearsalResult, SourcesAreNamedOnce) {
    EXPECT_EQ(compute_source({}), "");
    EXPECT_EQ(compute_source({{.source = "plan"}, {.source = "run 3"}, {.source = "plan"}}),
              "plan; run 3");
}

TEST(RehearsalSeries, HasASeparateName) {
    EXPECT_EQ(rehearsal_series("stage1"), "stage1-rehearsal");
    EXPECT_EQ(rehearsal_series("stage1-rehearsal"), "stage1-rehearsal");
    EXPECT_EQ(trained_series("stage1-rehearsal"), "stage1");
    EXPECT_EQ(trained_series("stage1"), "stage1");
}

}  // namespace
}  // namespace osora::cli::test
