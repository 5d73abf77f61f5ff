#include "db/analysis/bisect/scaling_study.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace osora::db::analysis {
namespace {

/// Weak scaling: a node's work is the same at all sizes.
std::vector<ScalingPoint> points(std::function<double(double)> const& step_s, int doublings = 6) {
    std::vector<ScalingPoint> made;
    for (int i = 0; i <= doublings; ++i) {
        ScalingPoint point;
        point.nodes = 1 << i;
        point.step_s = {step_s(point.nodes)};
        point.samples_per_step = 8.0 * point.nodes;
        made.push_back(point);
    }
    return made;
}

TEST(ScalingStudy, FindsTheTermsThatMadeThePoints) {
    auto const constant = study_scaling(points([](double) { return 7; }))->law;
    EXPECT_EQ(constant.text(), "7");
    auto const tree = study_scaling(points([](double n) { return 5 + 0.8 * std::log2(n); }))->law;
    EXPECT_EQ(tree.text(), "5 + 0.8 log2 n");
    auto const ring = study_scaling(points([](double n) { return 5 + 3 * (n - 1) / n; }))->law;
    EXPECT_EQ(ring.text(), "5 + 3 (n-1)/n");
    auto const barrier = study_scaling(points([](double n) { return 6 + 0.5 * n; }))->law;
    EXPECT_EQ(barrier.text(), "6 + 0.5 n");
    EXPECT_NEAR(barrier.at(128), 70, 1e-6);
}

TEST(ScalingStudy, NoiseAddsNoTerms) {
    int with_more_terms = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
        std::mt19937_64 random(seed);
        std::normal_distribution<double> noise(1, 0.02);
        auto const study = study_scaling(
            points([&](double n) { return (5 + 0.8 * std::log2(n)) * noise(random); }),
            {.sigma = 0.02});
        with_more_terms += study->law.linear_s > 0;
        EXPECT_NEAR(study->law.at(16) / 8.2, 1, 0.06);
    }
    EXPECT_LT(with_more_terms, 20);
}

// 2.65 / 2.75 / 3.50 s on 1 / 8 / 64 GPUs: the published 100 / 96.4 / 75.7 %.
TEST(ScalingStudy, EfficienciesOfAPublishedRun) {
    std::vector<ScalingPoint> made;
    for (auto const& [nodes, step_s] : {std::pair{1, 2.65}, {8, 2.75}, {64, 3.50}}) {
        made.push_back({nodes, {step_s}, 4.0 * nodes, {}});
    }
    auto const study = study_scaling(made).value();
    EXPECT_FALSE(study.strong);
    EXPECT_NEAR(study.steps[1].efficiency, 0.964, 0.0005);
    EXPECT_NEAR(study.steps[2].efficiency, 0.757, 0.0005);
    EXPECT_EQ(study.knee_nodes, 8);
    EXPECT_TRUE(study.has_knee);
    EXPECT_FALSE(study.notes.empty());
}

TEST(ScalingStudy, TheKneeIsTheLastSizeBeforeTheLoss) {
    auto made = points([](double n) { return n <= 8 ? 7.0 : 14.0; }, 4);
    for (auto& point : made) point.components_s = {{"compute", 5}, {"exposed all_gather", 1}};
    made.back().components_s["exposed all_gather"] = 8;
    auto const study = study_scaling(made).value();
    EXPECT_EQ(study.knee_nodes, 8);
    EXPECT_TRUE(study.has_knee);
    EXPECT_NEAR(study.steps.back().per_doubling, 0.5, 1e-9);
    EXPECT_EQ(study.steps.back().largest, "exposed all_gather");
    EXPECT_EQ(study.steps.back().growth_s.at("exposed all_gather"), 7);
    EXPECT_EQ(study.steps.back().growth_s.at("compute"), 0);
    EXPECT_EQ(study.steps[1].largest, "");
}

// Zero in place of what is not known would be a growth by all of it.
TEST(ScalingStudy, APartThatIsNotKnownAtASizeHasNoGrowth) {
    auto made = points([](double n) { return n <= 8 ? 7.0 : 14.0; }, 4);
    for (auto& point : made) point.components_s = {{"compute", 5}, {"waiting for data", 6}};
    made.front().components_s.erase("waiting for data");
    made.back().components_s = {{"compute", 6}, {"waiting for data", 6.5}};
    auto study = study_scaling(made).value();
    EXPECT_FALSE(study.steps.back().growth_s.contains("waiting for data"));
    EXPECT_EQ(study.steps.back().growth_s.at("compute"), 1);
    EXPECT_EQ(study.steps.back().largest, "compute");
    EXPECT_EQ(study.steps[1].largest, "") << "the size before it does not know";
    made.back().components_s.erase("compute");
    study = study_scaling(made).value();
    EXPECT_EQ(study.steps.back().largest, "waiting for data");
    EXPECT_TRUE(study.steps.back().growth_s.empty());
}

TEST(ScalingStudy, StrongScalingIsBroughtToEqualWork) {
    auto made = points([](double n) { return 16 / n; }, 4);
    for (auto& point : made) {
        point.samples_per_step = 64;
        point.components_s = {{"compute", 16.0 / point.nodes}};
    }
    auto const study = study_scaling(made).value();
    EXPECT_TRUE(study.strong);
    EXPECT_FALSE(study.has_knee);
    EXPECT_EQ(study.knee_nodes, 16);
    EXPECT_NEAR(study.steps.back().efficiency, 1, 1e-9);
    EXPECT_NEAR(study.steps.back().growth_s.at("compute"), 0, 1e-9);
    EXPECT_EQ(study.law.text(), "16");
}

TEST(ScalingStudy, AHealthySeriesHasNoKnee) {
    int knees = 0;
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937_64 random(seed);
        std::normal_distribution<double> noise(7, 0.14);
        knees +=
            study_scaling(points([&](double) { return noise(random); }), {.sigma = 0.02})->has_knee;
    }
    EXPECT_LE(knees, 4);  // six comparisons at 3 sigma each: 0.8 % expected
}

TEST(ScalingStudy, RefusesWhatIsNoMeasurement) {
    auto const fails = [](auto change) {
        auto made = points([](double) { return 7; }, 2);
        change(made);
        return study_scaling(made).has_error();
    };
    EXPECT_FALSE(fails([](auto&) {}));
    EXPECT_TRUE(fails([](auto& p) { p.resize(1); }));
    EXPECT_TRUE(fails([](auto& p) { p[1].nodes = 1; }));
    EXPECT_TRUE(fails([](auto& p) { p[1].nodes = 0; }));
    EXPECT_TRUE(fails([](auto& p) { p[1].step_s = {}; }));
    EXPECT_TRUE(fails([](auto& p) { p[1].step_s = {NAN}; }));
    EXPECT_TRUE(fails([](auto& p) { p[1].samples_per_step = 0; }));
    EXPECT_TRUE(fails([](auto& p) { p[1].components_s = {{"x", -1}}; }));
}

}  // namespace
}  // namespace osora::db::analysis
