// The pages of recorded runs show what the commands show.
#include "cli/dashboard/history_view.hpp"

#include "cli/report/diff_parts.hpp"
#include "cli/report/diff_sides.hpp"
#include "cli/text/html.hpp"
#include "tests/unit/cli/dashboard/router_kit.hpp"
#include "tests/unit/cli/report/demo_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::cli::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(DashboardHistory, ShowsWhatTheReportShows) {
    OpenHistory history;
    history.store = history_of({{.number = 41}, {.number = 42, .series = "other"}});
    HistoryView view([&history](bool) -> Result<OpenHistory const*> { return &history; });
    auto const page = answer(get("/run/41"), rules(), view);
    ASSERT_EQ(page.status, 200) << page.body;
    for (auto const& each : phrases_of(report_of({.number = 41})).answer) {
        for (auto const& line : each.lines) EXPECT_THAT(page.body, HasSubstr(html_text(line)));
    }
    auto const all = view.runs({}).value();
    ASSERT_EQ(all.rows.size(), 2u);
    EXPECT_EQ(all.rows[0].id, "42");
    EXPECT_EQ(all.rows[1].id, "41");
    EXPECT_EQ(all.rows[1].steps_done, 120);
    EXPECT_EQ(all.rows[1].verdict, "ok");
    EXPECT_THAT(all.series, ElementsAre("demo", "other"));
    EXPECT_EQ(view.runs({.series = "other"}).value().total, 1);
    EXPECT_EQ(view.runs({.name = "OTHER"}).value().total, 1);
    EXPECT_EQ(view.runs({.state = "ok"}).value().total, 2);
    EXPECT_EQ(view.runs({.state = "ended"}).value().total, 2);
    EXPECT_EQ(view.runs({.state = "running"}).value().total, 0);
    EXPECT_EQ(answer(get("/series/demo"), rules(), view).status, 200);
    EXPECT_THAT(answer(get("/series/demp"), rules(), view).body, HasSubstr("/series/demo"));
}

TEST(DashboardHistory, ADiffShowsWhatTheCommandShows) {
    OpenHistory history;
    DemoRun slow{.number = 42};
    slow.image_s *= 1.5;
    slow.video_s *= 1.5;
    history.store = history_of({{.number = 41}, slow});
    HistoryView view([&history](bool) -> Result<OpenHistory const*> { return &history; });
    auto const page = answer(get("/diff?a=41&b=42"), rules(), view);
    ASSERT_EQ(page.status, 200) << page.body;
    auto const sides = diff_sides(*history.store, "41", "42").value();
    auto const found = db::analysis::compare_runs(sides.a, sides.b);
    ASSERT_EQ(found.verdict, db::analysis::SpeedVerdict::slower);
    EXPECT_THAT(page.body, HasSubstr(html_text(diff_answer(found, diff_unit(found)))));
    EXPECT_THAT(page.body, AllOf(HasSubstr("<code>osora bisect 41 42</code>"),
                                 HasSubstr("id=\"chart-step-time-a\""),
                                 HasSubstr("id=\"chart-step-time-b\"")));
    ASSERT_FALSE(found.waterfall.rows.empty());
    for (auto const& row : waterfall_table(found.waterfall, diff_unit(found)).rows) {
        EXPECT_THAT(page.body, HasSubstr(html_text(row[0].text)));
    }
    EXPECT_TRUE(found.differences.empty());
    EXPECT_THAT(page.body, HasSubstr("nothing that is recorded differs"));
    EXPECT_EQ(answer(get("/diff?a=41&b=41"), rules(), view).status, 400);
    EXPECT_EQ(answer(get("/diff?a=41&b=43"), rules(), view).status, 404);
}

}  // namespace
}  // namespace osora::cli::test
