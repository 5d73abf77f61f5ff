// Reports as a person sees them, checked by eye once: tests/data/report. OSORA_UPDATE_GOLDEN=1
// writes them anew.
#include "base/files.hpp"
#include "cli/report_render.hpp"
#include "cli/terminal.hpp"
#include "tests/unit/cli_report/demo_run.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace osora::cli::test {
namespace {

void expect_golden(std::string const& name, std::string const& text) {
    std::filesystem::path const file =
        std::filesystem::path(OSORA_SOURCE_DIR) / "tests" / "data" / "report" / name;
    if (std::getenv("OSORA_UPDATE_GOLDEN") != nullptr) {
        ASSERT_TRUE(write_file_atomic(file, text).has_value());
    }
    auto const golden = read_file(file);
    ASSERT_TRUE(golden.has_value()) << golden.error().message;
    EXPECT_EQ(text, *golden);
}

/// Text forms fit the page and have no blanks at the end of a line.
void expect_fits(std::string const& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(display_width(line), 80) << line;
        EXPECT_FALSE(line.ends_with(' ')) << line;
    }
    EXPECT_TRUE(text.ends_with('\n'));
}

DemoRun two_ranks() {
    return {.number = 42,
            .ranks_per_node = 2,
            .loaders = 1,
            .cpus = 2,
            .image_s = 0.18,
            .video_s = 0.31,
            .predicted_s = 0.24,
            .comm_share = 0.06,
            .wait_share = 0.09};
}

DemoRun troubled() {
    DemoRun run = two_ranks();
    run.number = 43;
    run.killed_at = 112;
    run.skipped_clips = 3;
    run.data_share = 0.14;
    run.predicted_s = 0.15;
    return run;
}

DemoRun failed() {
    DemoRun run{.number = 44, .steps = 30};
    run.end = {protocol::Verdict::oom, 1,
               "rank 0 on node 0 exited with 12 (out of GPU memory): tried to allocate 2.00 GiB, "
               "1.12 GiB free; try a smaller micro_batch_size"};
    return run;
}

TEST(Golden, RunOfOneRank) {
    auto const text = render(report_of({.number = 41}), ReportFormat::text);
    expect_fits(text);
    expect_golden("run.txt", text);
}

TEST(Golden, RunWithARelaunch) {
    auto const report = report_of(troubled());
    expect_fits(render(report, ReportFormat::text));
    expect_golden("run_troubled.txt", render(report, ReportFormat::text));
    expect_golden("run_troubled.md", render(report, ReportFormat::md));
    expect_golden("run_troubled.csv", render(report, ReportFormat::csv));
    expect_golden("run_troubled.json", render(report, ReportFormat::json));
}

TEST(Golden, RunThatFailed) {
    auto const text = render(report_of(failed()), ReportFormat::text);
    expect_fits(text);
    expect_golden("run_failed.txt", text);
}

TEST(Golden, RunWithoutAnEnd) {
    DemoRun run{.number = 45, .steps = 60, .ended = false};
    auto const text = render(report_of(run), ReportFormat::text);
    expect_fits(text);
    expect_golden("run_lost.txt", text);
}

TEST(Golden, RunWithoutASingleStep) {
    DemoRun run{.number = 46, .steps = 0};
    run.end = {protocol::Verdict::data, 1, "clips.csv: no clip fits any bucket"};
    auto const text = render(report_of(run), ReportFormat::text);
    expect_fits(text);
    expect_golden("run_empty.txt", text);
}

TEST(Golden, SeriesOnOneMachine) {
    DemoRun other{.number = 40, .arch = "mmdit-tiny"};
    DemoRun few{.number = 39, .steps = 8};
    auto const report = series_of({few, other, {.number = 41}, two_ranks()});
    expect_fits(render(report, ReportFormat::text));
    expect_golden("series.txt", render(report, ReportFormat::text));
    expect_golden("series.md", render(report, ReportFormat::md));
    expect_golden("series.csv", render(report, ReportFormat::csv));
    expect_golden("series.json", render(report, ReportFormat::json));
}

TEST(Golden, SeriesOverManyNodes) {
    std::vector<DemoRun> runs;
    int number = 1;
    for (int const nodes : {1, 8, 16}) {
        double const slower = nodes == 16 ? 1.9 : 1 + 0.005 * nodes;
        runs.push_back({.number = number++,
                        .series = "stdit3-stage1",
                        .nodes = nodes,
                        .ranks_per_node = 8,
                        .cpus = 96,
                        .steps = 60,
                        .global_batch = {1024, 1024},
                        .image_s = 40.0 / nodes * slower,
                        .video_s = 104.0 / nodes * slower,
                        .predicted_s = 82.0 / nodes,
                        .comm_share = nodes == 16 ? 0.48 : 0.02,
                        .wait_share = 0.01});
    }
    auto const report = series_of(runs, "stdit3-stage1");
    expect_fits(render(report, ReportFormat::text));
    expect_golden("series_nodes.txt", render(report, ReportFormat::text));
}

TEST(Golden, History) {
    std::vector<DemoRun> const runs{
        {.number = 41}, troubled(), failed(), {.number = 45, .steps = 60, .ended = false}};
    auto const store = history_of(runs);
    std::vector<HistoryRow> rows;
    for (auto const& run : db::list_runs(*store, "", 10).value()) {
        bool const alive = run.run.number == 45;
        rows.push_back({run, db::analysis::state_of(run.run, {.controller_alive = alive})});
    }
    expect_fits(history_text(rows));
    expect_golden("history.txt", history_text(rows));
    expect_fits(history_text({}));
}

}  // namespace
}  // namespace osora::cli::test
