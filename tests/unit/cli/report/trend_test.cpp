// How a series went over time: the sentence of each case, and every figure of it against SQL.
#include "base/robust.hpp"
#include "cli/detect/detect_render.hpp"
#include "cli/report/report_figures.hpp"
#include "cli/report/report_render.hpp"
#include "cli/report/trend_text.hpp"
#include "tests/unit/cli/report/demo_run.hpp"
#include "tests/unit/cli/report/figures_kit.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace osora::cli::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Runs of 40 steps at 0.3 s and 0.5 s times each factor, numbered from 31 on.
std::vector<DemoRun> runs_of(std::vector<double> const& factors) {
    std::vector<DemoRun> runs;
    for (std::size_t i = 0; i < factors.size(); ++i) {
        double const own = factors[i] * (1 + 0.002 * static_cast<double>(i * 7 % 5));
        runs.push_back({.number = 31 + static_cast<int>(i),
                        .steps = 40,
                        .image_s = 0.3 * own,
                        .video_s = 0.5 * own});
    }
    return runs;
}
std::string sentence(std::vector<double> const& factors) {
    auto const sentences = trend_sentences(series_of(runs_of(factors)));
    return sentences.empty() ? "" : sentences.front();
}

TEST(TrendSentence, EachCaseIsOneSentence) {
    EXPECT_EQ(sentence(repeated(10, 1, {1.9, 1.9, 1.9, 1.9})),
              "demo became 1.9x slower at run 41 on 2026-11-18 and has stayed so: 433 -> 822 "
              "ms/step.");
    EXPECT_THAT(sentence(repeated(10, 1, {1.1, 1.1, 1.1})),
                testing::StartsWith("demo became 10.0 % slower at run 41 on 2026-11-18 and has"));
    EXPECT_THAT(sentence(repeated(10, 1, {0.8, 0.8, 0.8, 0.8})),
                testing::StartsWith("demo became 20.1 % faster at run 41 on 2026-11-18 and has"));
    EXPECT_THAT(sentence(repeated(10, 1, {1.9, 1.9, 1.9, 1.9, 1, 1, 1, 1})),
                AllOf(testing::StartsWith("demo became 1.9x slower at run 41"),
                      testing::EndsWith("and is back since run 45 on 2026-11-18.")));
    EXPECT_THAT(sentence(repeated(30, 1)),
                testing::MatchesRegex("demo: no change in 30 runs; spread 0.[0-9] %."));
    EXPECT_EQ(sentence(repeated(3, 1)), "demo: 3 runs are too few to tell a change; 6 are needed.");
    EXPECT_THAT(sentence(repeated(10, 1, {1.9})),
                AllOf(testing::StartsWith("demo: run 41 was 1.9x slower than the 10 runs before"),
                      HasSubstr("one slow run may be chance.")));
    EXPECT_THAT(sentence(repeated(10, 1, {1.9, 1.9})),
                testing::StartsWith("demo: runs 41 and 42 were slow, the newest 1.9x slower than "
                                    "the 10 runs before."));
}

TEST(TrendSentence, TheSizesThatChangedAreNamed) {
    auto runs = runs_of(repeated(10, 1, {1.9, 1.9, 1.9, 1.9}));
    for (auto& run : runs_of(repeated(20, 0.6))) {
        run.number += 20;
        run.ranks_per_node = 2;
        runs.push_back(run);
    }
    EXPECT_THAT(trend_sentences(series_of(runs)),
                ElementsAre(HasSubstr("demo on 1 rank became 1.9x slower at run 41")));
    EXPECT_THAT(trend_commands(series_of(runs)), ElementsAre("osora bisect 40 44"));
    EXPECT_THAT(trend_commands(series_of(runs_of(repeated(8, 1)))), IsEmpty());
}

TEST(TrendSentence, EveryFormBeginsWithIt) {
    auto const report = series_of(runs_of(repeated(10, 1, {1.9, 1.9, 1.9, 1.9})));
    std::string const said = "demo became 1.9x slower at run 41 on 2026-11-18 and has stayed so: ";
    auto const text = render(report, ReportFormat::text);
    EXPECT_THAT(text, HasSubstr("runs\n" + said));
    EXPECT_THAT(render(report, ReportFormat::md), HasSubstr("runs\n\n" + said));
    EXPECT_THAT(render(report, ReportFormat::json), HasSubstr("\"sentence\":\"" + said));
    auto const page = page_of(report, series_figures(report, series_charts(report)));
    EXPECT_FALSE(page.good);
    auto const html = html_page(page, {});
    EXPECT_THAT(html, HasSubstr("<dt>trend</dt>\n<dd>" + said));
    EXPECT_LT(html.find(said), html.find("<h2>"));
    EXPECT_TRUE(page_of(series_of(runs_of(repeated(8, 1))), {}).good);
    EXPECT_TRUE(page_of(series_of(runs_of(repeated(8, 1, {1.9}))), {}).good) << "one slow run";
}

/// Seconds a step of a run: its buckets' medians, weighted with the steps that all runs took.
double step_s(Sql const& sql, int run) {
    double seconds = 0, steps = 0;
    for (auto const& bucket : sql.list("SELECT DISTINCT bucket FROM used")) {
        double const all =
            sql.one(fmt::format("(SELECT count(*) FROM used WHERE bucket='{}')", bucket));
        seconds += all * sql.one(median_of(fmt::format(
                             "SELECT mean AS v FROM timed WHERE name='step_time_s' AND "
                             "bucket='{}' AND run_id=(SELECT run_id FROM run WHERE number={})",
                             bucket, run)));
        steps += all;
    }
    return seconds / steps;
}

TEST(FiguresEqualSql, ChangesOfASeries) {
    auto runs = runs_of(repeated(8, 1, {1.6, 1.6, 1.6, 1.6, 1.6, 1.6}));
    runs[2].steps = 50;  // another mix of buckets
    auto const store = history_of(runs);
    auto const report =
        db::analysis::series_report("demo", db::load_series(*store, "demo").value());
    auto const charts = series_charts(report);
    Sql const sql(*store);
    std::vector<double> before, after;
    for (int run = 31; run < 45; ++run) {
        (run < 39 ? before : after).push_back(step_s(sql, run));
        auto const& point = charts.runs.at(static_cast<std::size_t>(run - 31));
        EXPECT_EQ(point.number, run);
        double const expected = run < 39 ? before.back() : after.back();
        EXPECT_NEAR(point.step_s, expected, 1e-9 * expected);
    }
    auto const forms =
        forms_of(change_table(report), {"submitted", "ranks", "before_s", "after_s", "effect"});
    expect_cell(forms, "39", {"ranks"}, 1);
    expect_cell(forms, "39", {"before_s", 1000}, median(before));
    expect_cell(forms, "39", {"after_s", 1000}, median(after));
    expect_cell(forms, "39", {"effect", 100}, median(after) / median(before) - 1);
    EXPECT_EQ(
        forms.text.at("39/submitted"),
        sql.list("SELECT date(submitted_us/1000000,'unixepoch') FROM run WHERE number=39").at(0));
    ASSERT_EQ(charts.levels.size(), 2u);
    EXPECT_NEAR(charts.levels[0].step_s, median(before), 1e-9);
    EXPECT_NEAR(charts.levels[1].step_s, median(after), 1e-9);
    auto const figure = series_figures(report, charts).at(0);
    EXPECT_EQ(figure.id, "runs");
    auto const& change = figure.data.at("changes").at(0);
    EXPECT_EQ(change.at("at"), 8);
    EXPECT_THAT(
        std::string(change.at("label").as_string()),
        fmt::format("run 39, 2026-11-18\n{:.0f} -> {:.0f} ms (+{:.1f} %)", 1000 * median(before),
                    1000 * median(after), 100 * (median(after) / median(before) - 1)));
    EXPECT_NEAR(figure.data.at("levels").at(1).at("step_s").to_number<double>(), median(after),
                1e-5);
    EXPECT_THAT(
        trend_sentences(report).at(0),
        HasSubstr(fmt::format("became {:.1f}x slower at run 39", median(after) / median(before))));
    EXPECT_THAT(render(report, ReportFormat::csv), Not(HasSubstr("submitted")));
}

}  // namespace
}  // namespace osora::cli::test
