// osora detect over runs of a history: what is compared with what, and what people read.
#include "cli/detect_render.hpp"
#include "cli/terminal.hpp"
#include "tests/unit/cli_report/demo_run.hpp"

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
std::vector<DemoRun> runs_of(std::vector<double> const& factors) {
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
std::vector<double> repeated(int count, double factor, std::vector<double> more = {}) {
    more.insert(more.begin(), static_cast<std::size_t>(count), factor);
    return more;
}

SeriesDetection detected(std::vector<DemoRun> const& runs) {
    auto const store = history_of(runs);
    SeriesDetection series{.name = "demo", .groups = {}, .too_few = {}};
    for (auto& group : run_groups(db::load_series(*store, "demo").value())) {
        if (group.numbers.size() < 6) {
            series.too_few.push_back(std::move(group));
        } else {
            series.groups.push_back(detect(std::move(group)));
        }
    }
    return series;
}
Detection only(std::vector<double> const& factors) {
    auto series = detected(runs_of(factors));
    EXPECT_THAT(series.groups, SizeIs(1));
    return series.groups.at(0);
}
void expect_narrow(std::string const& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80) << line;
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

TEST(DetectRuns, OneSlowRunIsASuspectAndTwoConfirm) {
    auto const suspect = only(repeated(10, 1, {1.1}));
    EXPECT_EQ(suspect.newest.value, GateState::suspect);
    EXPECT_EQ(finding_of(suspect), Finding::undecided);
    EXPECT_THAT(detect_text(SeriesDetection{"demo", {suspect}, {}}),
                HasSubstr("next     submit run 21 once more: two of two confirm it"));
    auto const confirmed = only(repeated(10, 1, {1.1, 1.1}));
    EXPECT_EQ(confirmed.newest.value, GateState::confirmed);
    EXPECT_EQ(finding_of(confirmed), Finding::bad);
    EXPECT_EQ(runs_to_compare(confirmed).good, 20);
    EXPECT_EQ(runs_to_compare(confirmed).bad, 22);
    auto const dismissed = only(repeated(10, 1, {1.1, 1}));
    EXPECT_EQ(dismissed.newest.value, GateState::dismissed);
    EXPECT_EQ(finding_of(dismissed), Finding::good);
    EXPECT_EQ(runs_to_compare(dismissed).bad, 0);
}

TEST(DetectRuns, OnlyRunsOfTheSameWorkAndSizeAreCompared) {
    auto runs = runs_of(repeated(8, 1));
    auto two_ranks = runs_of(repeated(14, 0.6));
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

TEST(DetectRuns, AllSeriesTakeALineEach) {
    std::vector<SeriesDetection> const all{detected(runs_of(repeated(10, 1, {1.1, 1.1, 1.1}))),
                                           detected(runs_of(repeated(8, 1))),
                                           detected(runs_of({1, 1}))};
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
    auto const object = detect_json({detected(runs_of(repeated(10, 1, {1.1, 1.1, 1.1})))});
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

}  // namespace
}  // namespace osora::cli::test
