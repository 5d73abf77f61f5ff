#include "cli/bisect/scaling_text.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace osora::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<ScalingTrial> trials_of(int nodes, double step_s) {
    std::vector<ScalingTrial> trials;
    for (int i = 0; i < 4; ++i) {
        trials.push_back({.nodes = nodes,
                          .step_s = step_s * (1 + 0.001 * i),
                          .cost_gpu_s = 10.0 * nodes,
                          .samples_per_step = 4.0 * nodes});
    }
    return trials;
}

/// Twice as slow on 16 nodes as on one.
ScalingAnswer answer() {
    ScalingAnswer answer{.series = "stage1", .rung = "rehearsal"};
    std::vector<db::analysis::ScalingPoint> points;
    for (int const nodes : {1, 4, 16}) {
        double const step_s = nodes == 16 ? 2.0 : 1.0;
        auto const trials = trials_of(nodes, step_s);
        db::analysis::ScalingPoint point{
            .nodes = nodes, .step_s = {}, .samples_per_step = 4.0 * nodes, .components_s = {}};
        for (auto const& each : trials) point.step_s.push_back(each.step_s);
        point.components_s = {{"compute", 0.9}, {"exposed communication", step_s - 0.9}};
        points.push_back(point);
        answer.trials.insert(answer.trials.end(), trials.begin(), trials.end());
    }
    answer.study = db::analysis::study_scaling(points).value();
    answer.p = 1.0 / 70;
    answer.log = "ab12cd";
    return answer;
}

TEST(ScalingText, NamesKneeGrowthAndWhatAProbeSaw) {
    auto reported = answer();
    reported.notes = {"probe of 16 nodes, 2 h ago: uplink of leaf2: 4 pairs at once get 13 Mbit/s"};
    auto const text = scaling_answer_text(reported);
    EXPECT_THAT(text,
                HasSubstr("proved: the number of nodes: knee at 4 nodes, 50 % efficiency at 16"));
    EXPECT_THAT(text, HasSubstr("100 % is exposed communication"));
    EXPECT_THAT(text, HasSubstr("note: probe of 16 nodes, 2 h ago: uplink of leaf2"));
    EXPECT_THAT(text, HasSubstr("12 trials; the same command shows this again"));
    for (std::size_t begin = 0; begin < text.size();) {
        auto const end = text.find('\n', begin);
        EXPECT_LE(end - begin, 80u) << text;
        begin = end + 1;
    }
}

TEST(ScalingText, SplitsWhatWasWaitedForByClassOfCollectives) {
    EXPECT_THAT(scaling_answer_text(answer()), Not(HasSubstr("by class"))) << "older trials";
    std::vector<db::analysis::ScalingPoint> points;
    for (int const nodes : {1, 4, 16}) {
        double const step_s = nodes == 16 ? 2.0 : 1.0;
        db::analysis::ScalingPoint point{.nodes = nodes,
                                         .step_s = {step_s, step_s, step_s},
                                         .samples_per_step = 4.0 * nodes,
                                         .components_s = {{"compute", 0.9}}};
        point.components_s["exposed communication"] = step_s - 0.9;
        if (nodes > 1) {
            point.collectives_s = {{"gradients all_reduce", step_s - 0.95}, {"stop vote", 0.05}};
        }
        points.push_back(std::move(point));
    }
    auto reported = answer();
    reported.study = db::analysis::study_scaling(points).value();
    EXPECT_THAT(scaling_answer_text(reported),
                HasSubstr("  exposed collectives by class, waiting for slower ranks included:\n"
                          "    +1.05 s  gradients all_reduce\n"
                          "    +0.05 s  stop vote\n"));
    auto const object = scaling_answer_json(reported);
    auto const& grew = object.at("culprits").at(0).at("collectives");
    EXPECT_NEAR(grew.at("gradients all_reduce").to_number<double>(), 1.05, 1e-9);
    EXPECT_NEAR(object.at("sizes").at(1).at("collectives_growth_s").at("stop vote").as_double(),
                0.05, 1e-9);
}

TEST(ScalingText, JsonHoldsEachTrial) {
    auto const object = scaling_answer_json(answer());
    EXPECT_EQ(object.at("verdict"), "proved");
    ASSERT_EQ(object.at("trials").as_array().size(), 12u);
    auto const& last = object.at("trials").at(11);
    EXPECT_EQ(last.at("seq"), 12);
    EXPECT_EQ(last.at("nodes"), 16);
    EXPECT_EQ(last.at("rung"), "rehearsal");
    EXPECT_NEAR(last.at("value_s").to_number<double>(), 2.006, 1e-9);
}

// In a log that is read again such a trial has no time either.
TEST(ScalingText, AFailedTrialHasNoTimeInJson) {
    auto reported = answer();
    reported.trials[0].failure = "run stage1-bisect-0043 ended with 1";
    reported.trials[0].step_s = 0;
    auto const object = scaling_answer_json(reported);
    EXPECT_TRUE(object.at("trials").at(0).at("value_s").is_null());
    EXPECT_NEAR(object.at("trials").at(1).at("value_s").to_number<double>(), 1.001, 1e-9);
}

TEST(ScalingText, ARemedyThatDidNotRunHasNoGainInJson) {
    auto reported = answer();
    reported.remedies = {
        {.key = "parallel.overlap", .value = "false", .decision = {}, .failure = {}},
        {.key = "parallel.grad_bucket_mib", .value = "100", .decision = {}, .failure = {}}};
    reported.remedies[0].failure = "run stage1-bisect-0044 ended with 1";
    reported.remedies[1].decision.gain = 0.04;
    auto const object = scaling_answer_json(reported);
    auto const& remedies = object.at("remedies");
    for (char const* name : {"gain", "low", "high"}) {
        EXPECT_TRUE(remedies.at(0).at(name).is_null()) << name;
    }
    EXPECT_DOUBLE_EQ(remedies.at(1).at("gain").as_double(), 0.04);
    EXPECT_EQ(remedies.at(1).at("low").as_double(), 0);
}

// The run has trained 80 steps, the last 20 of them in a stage.
TEST(ScalingText, SaysThatTrialsReachNoStage) {
    db::analysis::RunSummary run;
    run.run.number = 42;
    run.plan.emplace();
    run.plan->chosen.first_stage_step = 60;
    run.measured.emplace();
    run.measured->next_step = 60;
    EXPECT_EQ(scaling_stage_note(run), "") << "before the stage";
    run.measured->next_step = 80;
    auto const note = scaling_stage_note(run);
    EXPECT_THAT(note, HasSubstr("without the [[stage]] tables of run 42"));
    ScalingCost cost{.series = "stage1", .rung = "run", .steps = 25};
    EXPECT_THAT(scaling_cost_text(cost), Not(HasSubstr("[[stage]]")));
    cost.notes = {note};
    EXPECT_THAT(scaling_cost_text(cost), HasSubstr("note: trials train without the [[stage]]"));
    EXPECT_EQ(scaling_cost_json(cost).at("notes").at(0).as_string(), note);
    auto reported = answer();
    reported.notes = {note};
    EXPECT_THAT(scaling_answer_text(reported),
                HasSubstr("note: trials train without the [[stage]]"));
    auto const notes = protocol::json::serialize(scaling_answer_json(reported).at("notes"));
    EXPECT_THAT(notes, HasSubstr("without the [[stage]] tables of run 42"));
}

TEST(ScalingText, OneSizeIsNoAnswer) {
    ScalingAnswer const stopped{.series = "stage1", .rung = "run", .stopped = true};
    EXPECT_THAT(scaling_answer_text(stopped), HasSubstr("fewer than two sizes were measured"));
    EXPECT_FALSE(is_proved(stopped));
    EXPECT_EQ(scaling_answer_json(stopped).at("verdict"), "not_reproducible");
}

TEST(ScalingText, CostSaysWhenTheBudgetIsTooSmall) {
    ScalingCost cost{.series = "stage1", .rung = "run", .steps = 25};
    cost.sizes = {{.nodes = 1, .trials = 4, .gpu_s = 7200},
                  {.nodes = 2, .trials = 4, .gpu_s = 14400}};
    cost.wall_s = 600;
    cost.budget_gpu_s = 8 * 3600;
    auto const text = scaling_cost_text(cost);
    EXPECT_THAT(text, HasSubstr("8 trials, each a run of 25 steps: 10 min"));
    EXPECT_THAT(text, HasSubstr("6 GPU-h of 8"));
    EXPECT_THAT(text, Not(HasSubstr("more than")));
    cost.budget_gpu_s = 3600;
    EXPECT_THAT(scaling_cost_text(cost), HasSubstr("6 GPU-h of 1; more than the"));
}

}  // namespace
}  // namespace osora::cli
