// What charts draw, against brute force and figures worked out by hand.
#include "db/analysis/keep_extremes.hpp"
#include "db/analysis/report/pair_matrix.hpp"
#include "db/analysis/report/rank_heat_map.hpp"
#include "db/analysis/report/series_charts.hpp"
#include "protocol/steps/matrix_codec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace osora::db::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pointwise;

std::vector<std::size_t> all_rows(std::size_t count) {
    std::vector<std::size_t> rows(count);
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
}

TEST(KeepExtremes, KeepsTheHighestAndLowestOfAnyStretch) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        std::mt19937_64 random(seed);
        std::vector<double> values(20'000);
        for (double& value : values) value = static_cast<double>(random() % 1000);
        values[random() % values.size()] = 5000;
        values[random() % values.size()] = -5000;
        std::vector<double> const* const column = &values;
        auto const rows = all_rows(values.size());
        auto const kept = keep_extremes({&column, 1}, rows, 1000);
        EXPECT_LE(kept.size(), 1002u);
        EXPECT_TRUE(std::ranges::is_sorted(kept));
        EXPECT_EQ(kept.front(), 0u);
        EXPECT_EQ(kept.back(), values.size() - 1);
        // Any window of 80 rows holds a whole group of 40: its extremes are drawn.
        for (std::size_t at = 0; at + 80 <= values.size(); at += 997) {
            auto const drawn = std::ranges::count_if(
                kept, [&](std::size_t row) { return row >= at && row < at + 80; });
            EXPECT_GE(drawn, 2);
        }
        for (double const extreme : {5000., -5000.}) {
            auto const at =
                static_cast<std::size_t>(std::ranges::find(values, extreme) - values.begin());
            EXPECT_TRUE(std::ranges::binary_search(kept, at)) << seed;
        }
    }
}

TEST(KeepExtremes, FewRowsStayAndNaNIsNoExtreme) {
    std::vector<double> values{3, NAN, 1, 2};
    std::vector<double> const* const column = &values;
    EXPECT_THAT(keep_extremes({&column, 1}, all_rows(4), 4), ElementsAre(0, 1, 2, 3));
    values.assign(100, NAN);
    EXPECT_THAT(keep_extremes({&column, 1}, all_rows(100), 10), ElementsAre(0, 99));
    EXPECT_THAT(keep_extremes({&column, 1}, {}, 10), IsEmpty());
}

RankBlock block(int first_rank, int ranks, int step0, std::vector<float> const& values,
                int attempt = 0) {
    return {.first_rank = first_rank,
            .ranks = ranks,
            .steps = static_cast<int>(values.size()) / ranks,
            .data = protocol::encode_matrix(values, static_cast<std::size_t>(ranks)),
            .attempt = attempt,
            .step0 = step0};
}

/// Two nodes of two ranks; steps 0 and 1. The median rank (the lower of the middle two) takes 1 s.
TEST(RankHeatMap, ShowsHowFarEachRankIsBehind) {
    auto const map = rank_heat_map({block(0, 2, 0, {1, 1, 2, 2}), block(2, 2, 0, {1.5F, 1, 2, 4})});
    EXPECT_EQ(map.ranks, 4);
    EXPECT_EQ(map.ranks_per_row, 1);
    EXPECT_EQ(map.steps_per_column, 1);
    EXPECT_THAT(map.step, ElementsAre(0, 1));
    EXPECT_THAT(map.excess, Pointwise(testing::DoubleNear(0.003),
                                      std::vector<double>{0, 0, 0, 0, 0.5, 0, 0, 1}));
}

TEST(RankHeatMap, StepsThatWereDoneAgainCountOnce) {
    auto const map = rank_heat_map({block(0, 2, 0, {1, 1, 1, 9, 1, 9}),  // steps 1, 2 are lost
                                    block(0, 2, 1, {1, 2, 1, 2}, 1)});
    EXPECT_THAT(map.step, ElementsAre(0, 1, 2));
    EXPECT_THAT(map.excess,
                Pointwise(testing::DoubleNear(0.003), std::vector<double>{0, 0, 0, 0, 1, 1}));
}

TEST(RankHeatMap, ManyRanksAndStepsShareCells) {
    constexpr int kSteps = 1000, kRanks = 200;
    std::vector<float> values(kSteps * kRanks, 1);
    for (int step = 500; step < kSteps; ++step) values[step * kRanks + 77] = 1.25F;
    values[10 * kRanks + 3] = 100;  // once: no news
    auto const map = rank_heat_map({block(0, kRanks, 0, values)});
    EXPECT_EQ(map.ranks_per_row, 4);
    EXPECT_EQ(map.steps_per_column, 9);
    ASSERT_EQ(map.rows(), 50u);
    std::size_t const columns = map.step.size();
    EXPECT_LE(columns, static_cast<std::size_t>(kHeatMapColumns));
    for (std::size_t row = 0; row < map.rows(); ++row) {
        for (std::size_t column = 0; column < columns; ++column) {
            bool const slow = row == 77 / 4 && map.step[column] + 4 >= 500;
            EXPECT_NEAR(map.excess[row * columns + column], slow ? 0.25 : 0, 0.003);
        }
    }
}

TEST(RankHeatMap, BlocksThatMakeNoSenseAreLeftOut) {
    auto good = block(0, 2, 0, {1, 2});
    auto cut = good, huge = good, before = good;
    cut.data.pop_back();
    huge.first_rank = 2'000'000'000;
    before.step0 = -5;
    EXPECT_THAT(rank_heat_map({cut}).step.size(), 1u);
    EXPECT_THAT(rank_heat_map({huge}).step, IsEmpty());
    EXPECT_THAT(rank_heat_map({before}).step, IsEmpty());
    EXPECT_THAT(rank_heat_map({block(0, 1, 0, {1, 2})}).step, IsEmpty());  // a single rank
    EXPECT_THAT(rank_heat_map({}).step, IsEmpty());
}

ProbeNode node(int number, std::string leaf) {
    return {.node = number, .hostname = "n" + std::to_string(number), .leaf = std::move(leaf)};
}
ProbeTransfer transfer(int from, int to, double gbit_s, int round = 0,
                       std::string stage = "matching") {
    return {.stage = std::move(stage),
            .network = "",
            .round = round,
            .from = from,
            .to = to,
            .size_bytes = 1'000'000'000,
            .seconds = 8 / gbit_s};
}

TEST(PairMatrixTest, IsOrderedByLeafAndTakesTheSlowerDirection) {
    ProbeRecord probe;
    probe.nodes = {node(0, "b"), node(1, "a"), node(2, "b")};
    probe.transfers = {transfer(0, 1, 100),   transfer(1, 0, 80),
                       transfer(0, 1, 90, 1), transfer(0, 1, 1, 2, "leaf_all"),
                       transfer(1, 2, 50),    transfer(2, 2, 7),
                       transfer(0, 9, 7)};
    probe.transfers.push_back(transfer(0, 2, 40));
    probe.transfers.back().network = "ib1";
    auto const matrix = pair_matrix(probe);
    EXPECT_THAT(matrix.names, ElementsAre("n1", "n0", "n2"));
    EXPECT_THAT(matrix.leaf_of, ElementsAre("a", "b", "b"));
    ASSERT_EQ(matrix.gbit_s.size(), 9u);
    EXPECT_NEAR(matrix.gbit_s[0 * 3 + 1], 85, 1e-9);  // of 80 and 90
    EXPECT_NEAR(matrix.gbit_s[1 * 3 + 0], 85, 1e-9);
    EXPECT_NEAR(matrix.gbit_s[0 * 3 + 2], 50, 1e-9);
    EXPECT_TRUE(std::isnan(matrix.gbit_s[1 * 3 + 2]));  // another network
    EXPECT_TRUE(std::isnan(matrix.gbit_s[0]));
}

TEST(PairMatrixTest, ManyNodesAreShownAsLeaves) {
    ProbeRecord probe;
    for (int i = 0; i < 200; ++i) probe.nodes.push_back(node(i, i % 2 == 0 ? "a" : "b"));
    probe.transfers = {transfer(0, 1, 100), transfer(2, 3, 60, 0, "leaf_all")};
    auto const matrix = pair_matrix(probe);
    EXPECT_TRUE(matrix.by_leaf);
    EXPECT_THAT(matrix.names, ElementsAre("a", "b"));
    EXPECT_NEAR(matrix.gbit_s[1], 60, 1e-9);
    probe.transfers.clear();
    EXPECT_THAT(pair_matrix(probe).names, IsEmpty());
}

Detection trend(int ranks, std::vector<int> numbers, std::vector<double> step_s) {
    Detection trend;
    trend.group.size.ranks = ranks;
    trend.group.submitted_us.resize(numbers.size());
    trend.group.mad_s.assign(numbers.size(), 0.1);
    trend.group.numbers = std::move(numbers);
    trend.group.step_s = std::move(step_s);
    return trend;
}

TEST(SeriesChartsTest, RunsOfAllSizesByNumberWithTheLevelsOfEach) {
    SeriesReport report;
    report.trends = {trend(2, {2, 4, 6}, {5, 6, 7}), trend(1, {1, 3, 5, 7}, {1, 1, 2, 2.5})};
    report.trends[1].verdict.value = changepoint::SeriesState::regressed;
    report.trends[1].robust.points = {{.index = 2, .before = 1, .after = 2.25}};
    auto const charts = series_charts(report);
    std::vector<int> numbers;
    for (auto const& run : charts.runs) numbers.push_back(run.number);
    EXPECT_THAT(numbers, ElementsAre(1, 2, 3, 4, 5, 6, 7));
    EXPECT_EQ(charts.runs[3].step_s, 6);
    EXPECT_EQ(charts.runs[3].ranks, 2);
    ASSERT_EQ(charts.changes.size(), 1u);
    EXPECT_EQ(charts.changes[0].at, 4);  // run 5
    ASSERT_EQ(charts.levels.size(), 2u) << "three runs of two ranks have no level";
    EXPECT_EQ(charts.levels[0].first, 0);
    EXPECT_EQ(charts.levels[0].last, 2);
    EXPECT_EQ(charts.levels[1].first, 4);
    EXPECT_EQ(charts.levels[1].last, 6);
    EXPECT_EQ(charts.levels[1].step_s, 2.25);
}

TEST(SeriesChartsTest, NumbersThatComeTwiceStayApart) {
    SeriesReport report;
    report.trends = {trend(2, {4, 4}, {5, 6}), trend(1, {4}, {7})};
    EXPECT_EQ(series_charts(report).runs.size(), 3u);
}

}  // namespace
}  // namespace osora::db::analysis
