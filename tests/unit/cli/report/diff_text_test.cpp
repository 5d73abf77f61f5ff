// osora diff of recorded runs: figures worked out from demo_run.hpp, 80 columns, exit codes.
#include "cli/report/diff_text.hpp"

#include "cli/command/exit_code.hpp"
#include "cli/text/terminal.hpp"
#include "tests/unit/cli/report/demo_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace osora::cli::test {
namespace {

using namespace db::analysis;
using testing::HasSubstr;
using testing::Not;

DemoRun compared_run(int number, double comm_share = 0.02) {
    DemoRun demo;
    demo.number = number;
    demo.ranks_per_node = 2;
    demo.comm_share = comm_share;
    return demo;
}

/// A step that takes longer by what its communication takes.
DemoRun slow(int number) {
    auto demo = compared_run(number, 0.49);
    demo.image_s = 0.3 * 0.98 / 0.51;
    demo.video_s = 0.5 * 0.98 / 0.51;
    return demo;
}

RunComparison compared(std::vector<DemoRun> const& a, std::vector<DemoRun> const& b) {
    auto all = a;
    all.insert(all.end(), b.begin(), b.end());
    auto const store = history_of(all);
    auto const side = [&](std::vector<DemoRun> const& runs) {
        std::vector<db::RunHistory> histories;
        for (auto const& each : runs) {
            auto const found = db::find_run(*store, std::to_string(each.number)).value();
            histories.push_back(db::load_run(*store, found.run_id).value());
        }
        return histories;
    };
    return compare_runs(side(a), side(b));
}

TEST(DiffText, SaysWhereTheTimeWentAndWhatComesNext) {
    auto const found = compared({compared_run(41)}, {slow(42)});
    auto const text = diff_text(found, "41", "demo");
    expect_narrow(text);
    EXPECT_THAT(text, HasSubstr("A        run 41 · demo-0041 · 2 ranks on 1 node"));
    EXPECT_THAT(text, HasSubstr("\nB is slower: +"));
    EXPECT_THAT(text, HasSubstr("\n exposed communication"));
    EXPECT_THAT(text, HasSubstr("within-run only"));
    EXPECT_THAT(text, HasSubstr("\nnext: osora bisect 41 demo\n"));
    EXPECT_EQ(diff_exit_code(found), kExitBad);
}

// Recorded steps add up; of the gap all is communication, but for 2 % of data wait.
TEST(DiffText, ComponentsOfRecordedRunsAddUp) {
    auto const found = compared({compared_run(41)}, {slow(42)}).waterfall;
    ASSERT_TRUE(found.enough() && found.attributable());
    EXPECT_LT(found.residual_share_b, 1e-6);
    double sum = 0;
    for (auto const& row : found.rows) sum += row.gap_s;
    EXPECT_NEAR(sum, found.b_s - found.a_s, 1e-9);
    auto const gap_of = [&](char const* key) {
        return std::ranges::find(found.rows, key, &WaterfallRow::key)->gap_s;
    };
    EXPECT_NEAR(gap_of("exposed_comm"), 0.49 * found.b_s - 0.02 * found.a_s, 0.01 * found.gap_s);
    EXPECT_NEAR(gap_of("loader"), 0.02 * found.gap_s, 0.01 * found.gap_s);
}

TEST(DiffText, TheSameSpeedHasNoNextCommand) {
    auto const found = compared({compared_run(41)}, {compared_run(42)});
    auto const text = diff_text(found, "41", "42");
    expect_narrow(text);
    EXPECT_THAT(text, HasSubstr("same speed"));
    EXPECT_THAT(text, HasSubstr("nothing that is recorded differs"));
    EXPECT_THAT(text, Not(HasSubstr("next:")));
    EXPECT_THAT(text, Not(HasSubstr("slow   ")));
    EXPECT_EQ(diff_exit_code(found), kExitOk);
}

TEST(DiffText, SeveralRunsOnASide) {
    auto const found =
        compared({compared_run(1), compared_run(2), compared_run(3)}, {slow(4), slow(5), slow(6)});
    auto const text = diff_text(found, "1,2,3", "4,5,6");
    EXPECT_THAT(text, HasSubstr("A        runs 1 2 3 · "));
    EXPECT_THAT(text, HasSubstr("over runs"));
    EXPECT_THAT(text, HasSubstr("next: osora bisect 3 6"));
}

TEST(DiffText, OtherWorkShowsOnlyTheItems) {
    auto other = compared_run(42);
    other.arch = "mmdit-tiny";
    other.nodes = 2;
    auto const found = compared({compared_run(41)}, {other});
    auto const text = diff_text(found, "41", "42");
    expect_narrow(text);
    EXPECT_THAT(text, HasSubstr("the work differs: model.arch stdit3-tiny /\nmmdit-tiny"));
    EXPECT_THAT(text, HasSubstr(" nodes   hosts"));
    EXPECT_THAT(text, Not(HasSubstr("efficiency")));
    EXPECT_EQ(diff_exit_code(found), kExitUndecided);
}

TEST(DiffText, TooFewStepsDecideNothing) {
    auto few = compared_run(42);
    few.steps = 6;
    auto const found = compared({compared_run(41)}, {few});
    EXPECT_THAT(diff_text(found, "41", "42"), HasSubstr("undecided: 100 and 4 steps count"));
    EXPECT_EQ(diff_exit_code(found), kExitUndecided);
}

TEST(DiffText, LongValuesAreCutWhereTheyStillDiffer) {
    auto found = compared({compared_run(41)}, {compared_run(42)});
    std::string const common(60, 'x');
    found.differences = {{"env", std::string(50, 'K'), common + "1", common + "2"},
                         {"env", "B", "\x1b[31m", std::string(300, 'z')}};
    auto const text = diff_text(found, "41", "42");
    expect_narrow(text);
    EXPECT_THAT(text, HasSubstr("..xxxx1  -> ..xxxx2"));
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, HasSubstr("-> zzzzzzzzzzzzzzzzz.."));
}

TEST(DiffJson, RowsAddUpAndItemsAreWhole) {
    auto found = compared({compared_run(41)}, {slow(42)});
    found.differences = {{"env", "NCCL_ALGO", "", "Tree"}};
    auto const json = diff_json(found);
    double sum = 0;
    for (auto const& row : json.at("waterfall").as_array()) {
        sum += row.at("gap_s").to_number<double>();
    }
    EXPECT_NEAR(sum, json.at("gap_s").to_number<double>(), 1e-12);
    EXPECT_EQ(json.at("verdict"), "slower");
    EXPECT_EQ(json.at("differences").at(0).at("b"), "Tree");
    EXPECT_EQ(json.at("a").at("runs").at(0).at("number"), 41);
}

}  // namespace
}  // namespace osora::cli::test
