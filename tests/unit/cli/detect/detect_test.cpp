// osora detect over runs of a history: what is compared with what, and what people read.
#include "cli/bisect/last_good_run.hpp"
#include "cli/detect/detect_history.hpp"
#include "cli/detect/detect_render.hpp"
#include "cli/text/terminal.hpp"
#include "tests/unit/cli/report/demo_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace osora::cli::test {
namespace {

using namespace db::analysis;
using changepoint::GateState;
using changepoint::SeriesState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// Runs of 40 steps at 0.5 s times each factor, numbered from 11 on, within half a percent.
std::vector<DemoRun> runs_at(std::vector<double> const& factors) {
    std::vector<DemoRun> runs;
    for (std::size_t i = 0; i < factors.size(); ++i) {
        double const seconds = 0.5 * factors[i] * (1 + 0.002 * static_cast<double>(i * 7 % 5));
        runs.push_back({.number = 11 + static_cast<int>(i),
                        .steps = 40,
                        .image_s = seconds,
                        .video_s = seconds});
    }
    return runs;
}

SeriesDetection detected(std::vector<DemoRun> const& runs) {
    auto const store = history_of(runs);
    SeriesDetection series{.name = "demo", .groups = {}, .too_few = {}};
    for (auto& group : run_groups(db::load_series(*store, "demo").value())) {
        if (group.numbers.size() < 6) {
            series.too_few.push_back(std::move(group));
        } else {
            series.groups.push_back(detect(std::move(group), {.metrics = true}));
        }
    }
    return series;
}
Detection only(std::vector<double> const& factors) {
    auto series = detected(runs_at(factors));
    EXPECT_THAT(series.groups, SizeIs(1));
    return series.groups.at(0);
}

CsvDetection of_file(std::vector<double> values) {
    CsvDetection found{"robust", {}, std::move(values), {}, {}, {}, {}, {}};
    found.answer = changepoint::robust_change_points(found.values, {});
    found.verdict = changepoint::series_verdict(found.values, found.answer, found.direction, {});
    auto const& points = found.answer.points;
    found.newest =
        changepoint::gate_newest(found.values, points.empty() ? 0 : points.back().index, {});
    return found;
}

TEST(DetectFile, OnlyALevelConfirms) {
    std::vector<double> values;
    for (int i = 0; i < 18; ++i) values.push_back(7 + 0.02 * (i * 7 % 5));
    values.insert(values.end(), {14.1, 14.2});
    auto const two = of_file(values);
    ASSERT_EQ(two.verdict.value, SeriesState::steady);
    EXPECT_THAT(detect_text(two), testing::StartsWith("no change"));
    EXPECT_THAT(detect_text(two), HasSubstr("newest   suspect: 10"));
    EXPECT_THAT(detect_text(two), Not(HasSubstr("confirmed")));
    EXPECT_EQ(detect_json(two).at("newest").at("state"), "suspect");
    EXPECT_EQ(detect_json(two).at("state"), "steady");
    values.push_back(14.15);
    auto const three = of_file(values);
    EXPECT_EQ(three.verdict.value, SeriesState::regressed);
    EXPECT_EQ(detect_json(three).at("newest").at("state"), "confirmed");
}

TEST(DetectRuns, ARegressionNamesTheRunsToCompare) {
    auto const detection = only(repeated(10, 1, {1.1, 1.1, 1.1, 1.1}));
    EXPECT_EQ(detection.verdict.value, SeriesState::regressed);
    EXPECT_EQ(finding_of(detection), Finding::bad);
    auto const pair = runs_to_compare(detection);
    EXPECT_EQ(pair.good, 20);
    EXPECT_EQ(pair.bad, 24);
    auto const text = detect_text(SeriesDetection{"demo", {detection}, {}});
    EXPECT_THAT(text, testing::StartsWith("regression: 552 ms/step from run 21 on, 9.9 % over "));
    EXPECT_THAT(text, HasSubstr("series demo · 1 rank on 1 node, global batch 16, 4 · 14 runs"));
    EXPECT_THAT(text, HasSubstr(" 11-20 "));
    EXPECT_THAT(text, HasSubstr("next     osora bisect 20 24\n"));
    expect_narrow(text);
}

TEST(DetectRuns, ASlowRunBesideTheChangeIsNotCompared) {
    auto const pair = runs_to_compare(only(repeated(9, 1, {1.5, 1.1, 1.1, 1.1, 1.1, 1.6})));
    EXPECT_EQ(pair.good, 19);  // not 20, which was slow once
    EXPECT_EQ(pair.bad, 24);   // not 25
}

TEST(DetectRuns, AQuickRunBeforeTheChangeIsNotCompared) {
    auto const detection = only(repeated(9, 1, {0.9, 1.1, 1.1, 1.1}));
    auto const pair = runs_to_compare(detection);
    EXPECT_EQ(pair.good, 19);  // not 20, which was quick once
    EXPECT_EQ(pair.bad, 23);
    EXPECT_EQ(db::analysis::good_run_of(detection.group, 21), 19);
    EXPECT_EQ(db::analysis::good_run_of(detection.group, 20), 0) << "none was faster";
}

TEST(DetectRuns, OfTwoLevelsThatWereFasterTheNewerIsCompared) {
    auto const detection = only(repeated(9, 1, {1.1, 1.1, 1.1, 1.3, 1.3, 1.3}));
    EXPECT_EQ(runs_to_compare(detection).good, 22);
    EXPECT_EQ(db::analysis::good_run_of(detection.group, 25), 22);
}

TEST(DetectRuns, ARunInProgressIsNotTheLastGoodOne) {
    auto runs = runs_at(repeated(4, 1, {1.5}));
    auto const good = [&runs] {
        auto const store = history_of(runs);
        auto const bad = db::find_run(*store, "15").value();
        return last_good_run(*store, db::load_run(*store, bad.run_id).value());
    };
    EXPECT_EQ(good().value(), "14");
    runs[3].ended = false;
    EXPECT_EQ(good().value(), "13");
    for (auto& each : runs) each.ended = each.number == 15;
    ASSERT_TRUE(good().has_error());
    EXPECT_THAT(good().error().message, HasSubstr("name one: osora bisect GOOD 15"));
}

TEST(DetectRuns, OneSlowRunIsASuspectAndTwoConfirm) {
    auto const suspect = only(repeated(10, 1, {1.1}));
    EXPECT_EQ(suspect.newest.value, GateState::suspect);
    EXPECT_EQ(regression_of(suspect), Regression::suspected);
    EXPECT_THAT(detect_text(SeriesDetection{"demo", {suspect}, {}}),
                testing::StartsWith("regression suspected: run 21 took 550 ms/step, 9.6 % over "));
    EXPECT_EQ(detect_json(std::vector{SeriesDetection{"demo", {suspect}, {}}})
                  .at("series")
                  .at(0)
                  .at("regression"),
              "suspected");
    EXPECT_EQ(finding_of(suspect), Finding::undecided);
    EXPECT_THAT(detect_text(SeriesDetection{"demo", {suspect}, {}}),
                HasSubstr("next     osora submit --from 21: two of two confirm it"));
    auto const confirmed = only(repeated(10, 1, {1.1, 1.1}));
    EXPECT_EQ(confirmed.newest.value, GateState::confirmed);
    EXPECT_EQ(finding_of(confirmed), Finding::bad);
    EXPECT_EQ(regression_of(confirmed), Regression::confirmed);
    EXPECT_THAT(detect_text(SeriesDetection{"demo", {confirmed}, {}}),
                testing::StartsWith("regression confirmed: run 22 took "));
    EXPECT_EQ(runs_to_compare(confirmed).good, 20);
    EXPECT_EQ(runs_to_compare(confirmed).bad, 22);
    auto const dismissed = only(repeated(10, 1, {1.1, 1}));
    EXPECT_EQ(dismissed.newest.value, GateState::dismissed);
    EXPECT_EQ(finding_of(dismissed), Finding::good);
    EXPECT_EQ(regression_of(dismissed), Regression::none);
    EXPECT_EQ(runs_to_compare(dismissed).bad, 0);
}

TEST(DetectRuns, OnlyRunsOfTheSameWorkAndSizeAreCompared) {
    auto runs = runs_at(repeated(8, 1));
    auto two_ranks = runs_at(repeated(14, 0.6));
    for (std::size_t i = 8; i < 14; ++i) {
        two_ranks[i].ranks_per_node = 2;
        runs.push_back(two_ranks[i]);
    }
    runs.push_back({.number = 40, .arch = "mmdit-tiny", .steps = 40, .image_s = 9, .video_s = 9});
    runs.push_back({.number = 41, .steps = 9, .image_s = 9, .video_s = 9});  // too short
    auto const series = detected(runs);
    ASSERT_THAT(series.groups, SizeIs(2));
    EXPECT_EQ(series.groups[0].group.size.ranks, 2);  // newest first
    EXPECT_EQ(series.groups[1].group.size.ranks, 1);
    EXPECT_THAT(series.groups[1].group.numbers, ElementsAre(11, 12, 13, 14, 15, 16, 17, 18));
    for (auto const& each : series.groups) EXPECT_THAT(each.robust.points, IsEmpty());
    ASSERT_THAT(series.too_few, SizeIs(1));
    EXPECT_THAT(series.too_few[0].numbers, ElementsAre(40));
    EXPECT_THAT(detect_text(series), HasSubstr("left out 1 run on 1 rank on 1 node"));
}

// Run 21 has been slow so far.
TEST(DetectRuns, ARunInProgressIsNotJudged) {
    auto runs = runs_at(repeated(10, 1, {1.1}));
    runs.back().ended = false;
    auto const store = history_of(runs);
    std::optional<std::string> const name = "demo";
    auto const found = detect_history(*store, DetectWhat::series, name, {}, {});
    ASSERT_TRUE(found.has_value()) << found.error().message;
    auto const& series = found->series.at(0);
    ASSERT_THAT(series.groups, SizeIs(1));
    EXPECT_EQ(series.groups[0].group.numbers.back(), 20);
    EXPECT_EQ(series.groups[0].newest.value, GateState::clear);
    EXPECT_THAT(series.unfinished, ElementsAre(21));
    EXPECT_THAT(detect_text(series), HasSubstr("\nleft out run 21: no end is recorded\n"));
    EXPECT_THAT(detect_text(found->series), HasSubstr("left out 1 run without a recorded end\n"));
    EXPECT_EQ(detect_json(found->series).at("unfinished"),
              (protocol::json::array{protocol::json::object{{"series", "demo"}, {"run", 21}}}));
    EXPECT_EQ(finding_of(found->series), Finding::good);
    EXPECT_EQ(series_of(runs).trends.at(0).group.numbers.back(), 20);
}

// Image steps take 0.3 s and video steps 0.5 s: a longer run has another share of each, and is no
// slower.
TEST(DetectRuns, TheMixOfBucketsDoesNotShow) {
    std::vector<DemoRun> runs;
    for (int i = 0; i < 8; ++i) runs.push_back({.number = 11 + i, .steps = i % 2 == 0 ? 40 : 50});
    auto const series = detected(runs);
    ASSERT_THAT(series.groups, SizeIs(1));
    auto const& seconds = series.groups[0].group.step_s;
    for (double const each : seconds) EXPECT_NEAR(each, seconds[0], 1e-12);
    EXPECT_GT(seconds[0], 0.4);
    EXPECT_LT(seconds[0], 0.5);
}

// 60 steps of a bucket took 1 s, and with a larger batch 40 took 4 s: their median is 1 s.
TEST(DetectRuns, EachBatchOfABucketCounts) {
    Measured run;
    run.steps_used = 100;
    run.step_s_mix = 2.2;
    run.buckets = {{.bucket = "64", .steps = 100, .step_s_median = 1}};
    EXPECT_NEAR(step_s_of(run, {{"64", 300}}), 2.2, 1e-12);
    run.steps_used = 150;
    run.step_s_mix = 370.0 / 150;
    run.buckets.push_back({.bucket = "128", .steps = 50, .step_s_median = 3});
    EXPECT_NEAR(step_s_of(run, {{"64", 2}, {"128", 1}}), 370.0 / 150, 1e-12);
    run.step_s_mix = 250.0 / 150;  // one batch each
    EXPECT_EQ(step_s_of(run, {{"64", 1}, {"128", 1}}), 2);
}

TEST(DetectRuns, AllSeriesTakeALineEach) {
    std::vector<SeriesDetection> const all{detected(runs_at(repeated(10, 1, {1.1, 1.1, 1.1}))),
                                           detected(runs_at(repeated(8, 1))),
                                           detected(runs_at({1, 1}))};
    auto const text = detect_text(all);
    EXPECT_THAT(text, testing::StartsWith("regression in 1 of 2 series and sizes\n"));
    EXPECT_THAT(text, HasSubstr("regressed +"));
    EXPECT_THAT(text, HasSubstr("steady"));
    EXPECT_THAT(text, HasSubstr("left out 1 series with fewer than 6 runs alike"));
    EXPECT_THAT(text, HasSubstr("next     osora detect demo\n"));
    expect_narrow(text);
    EXPECT_EQ(finding_of(all), Finding::bad);
    EXPECT_EQ(finding_of({all[1]}), Finding::good);
    EXPECT_EQ(finding_of({all[2]}), Finding::undecided);
    EXPECT_EQ(finding_of(std::vector<SeriesDetection>{}), Finding::undecided);
    EXPECT_EQ(detect_text(std::vector<SeriesDetection>{}),
              "undecided: no series has 6 runs that can be compared\n");
}

TEST(DetectRuns, JsonSaysTheRuns) {
    auto const object = detect_json({detected(runs_at(repeated(10, 1, {1.1, 1.1, 1.1})))});
    EXPECT_EQ(object.at("finding"), "bad");
    auto const& group = object.at("series").as_array().at(0).as_object();
    EXPECT_EQ(group.at("series"), "demo");
    EXPECT_EQ(group.at("state"), "regressed");
    EXPECT_EQ(group.at("runs").as_array().size(), 13u);
    auto const& point = group.at("change_points").as_array().at(0).as_object();
    EXPECT_EQ(point.at("index"), 10);
    EXPECT_EQ(point.at("run"), 21);
    EXPECT_EQ(point.at("interval"), (protocol::json::array{10, 10}));
    EXPECT_EQ(group.at("compare").at("good"), 20);
    EXPECT_EQ(group.at("bimodal"), nullptr);
}

// Twelve looks at each of two series: what explains a slow level is listed with it.
TEST(DetectRuns, WhatElseBecameWorseIsListed) {
    auto runs = runs_at(repeated(10, 1, {1.3, 1.3, 1.3, 1.3, 1.3, 1.3}));
    for (std::size_t i = 10; i < runs.size(); ++i) runs[i].data_share = 0.2;
    auto detection = detected(runs).groups.at(0);
    adjust({&detection.metrics});
    ASSERT_THAT(detection.metrics.worse, SizeIs(1));
    auto const& trend = detection.metrics.worse[0];
    EXPECT_EQ(trend.name, "data wait");
    EXPECT_NEAR(trend.before, 0.02, 0.001);
    EXPECT_NEAR(trend.after, 0.2, 0.001);
    EXPECT_LE(trend.adjusted_p, 0.05);
    EXPECT_THAT(detect_text(SeriesDetection{"demo", {detection}, {}}),
                HasSubstr("also     data wait: 2 % -> 20 % of the step from run 21 on"));
    auto steady = detected(runs_at(repeated(16, 1))).groups.at(0);
    EXPECT_THAT(steady.metrics.worse, IsEmpty());
    EXPECT_GE(steady.metrics.tested, 4);
}

NodeDrift drift(std::string host, std::string leaf, std::string path) {
    return {.host = std::move(host),
            .leaf = std::move(leaf),
            .path = std::move(path),
            .since_run = 214,
            .since_us = 1'795'000'000'000'000,
            .before = 0.99,
            .after = 0.71,
            .rate_before = 5.76e9,
            .rate_after = 4.13e9,
            .probes_before = 12,
            .probes_since = 7,
            .p = 1e-5,
            .adjusted_p = 0.01};
}

TEST(DetectNodes, SlowerNodesAreNamedWithWhatTheyReach) {
    NodeDriftReport report{.probes = 20, .nodes = 1024, .series = 2048};
    EXPECT_EQ(finding_of(report), Finding::good);
    EXPECT_EQ(detect_text(report), "no node became slower: 1,024 nodes in 20 probes\n");
    report.drifted = {drift("n11", "leaf2", ""), drift("a-host-with-a-long-name", "leaf2", "/d")};
    report.leaf_nodes = {{"leaf2", 4}};
    report.nodes_few = 2;
    report.probes_small = 1;
    auto const text = detect_text(report);
    EXPECT_EQ(finding_of(report), Finding::bad);
    EXPECT_THAT(text, testing::StartsWith("slower: n11 since probe 214, "));
    EXPECT_THAT(text, HasSubstr(" n11               214  2026-11-18       7  0.99 -> 0.71  46.1 -> "
                                "33.0 Gbit/s\n"));
    EXPECT_THAT(text, HasSubstr("5.36 -> 3.85 GiB/s\n"));
    EXPECT_THAT(text, HasSubstr("left out 2 nodes with too few probes, 1 probe of fewer than 4"));
    EXPECT_THAT(text, Not(HasSubstr("uplink")));  // one of four by the network
    expect_narrow(text);
    report.drifted.push_back(drift("n12", "leaf2", ""));
    EXPECT_THAT(detect_text(report), HasSubstr("leaf     2 of the 4 nodes of leaf2: its switch"));
    auto const object = detect_json(report);
    EXPECT_EQ(object.at("finding"), "bad");
    EXPECT_EQ(object.at("drifted").at(1).at("measure"), "storage");
    EXPECT_EQ(object.at("drifted").at(0).at("probes_since"), 7);
}

TEST(DetectNodes, TheySpeakForAHistoryThatHasNoSeries) {
    HistoryDetection history;
    history.nodes = NodeDriftReport{};
    EXPECT_EQ(finding_of(history), Finding::undecided);
    EXPECT_EQ(detect_text(history), "undecided: no series has 6 runs that can be compared\n");
    history.nodes_only = true;
    EXPECT_THAT(detect_text(history), testing::StartsWith("undecided: no node is in 6 probes"));
    history.nodes_only = false;
    history.nodes = NodeDriftReport{.probes = 20, .nodes = 16, .series = 16};
    EXPECT_EQ(finding_of(history), Finding::good);
    history.series.push_back(detected(runs_at(repeated(8, 1))));
    EXPECT_EQ(finding_of(history), Finding::good);
    EXPECT_THAT(detect_text(history), HasSubstr("\n\nno node became slower"));
    history.nodes->drifted.push_back(drift("n1", "", ""));
    EXPECT_EQ(finding_of(history), Finding::bad);
    EXPECT_EQ(detect_json(history).at("nodes").at("finding"), "bad");
}

}  // namespace
}  // namespace osora::cli::test
