// Every form of the reports against files that people have read. After a wanted change:
// OSORA_UPDATE_GOLDEN=1 build/tests/unit_cli_report --gtest_filter='Golden*', then read the diff.
#include "base/files/files.hpp"
#include "cli/report/report_render.hpp"
#include "cli/text/terminal.hpp"
#include "tests/unit/cli/report/demo_run.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace osora::cli::test {
namespace {

/// A clean run; a rank killed at step 110 after a checkpoint at 100, two clips skipped; a run that
/// failed before its first step was measured.
DemoRun clean() {
    return {.number = 41, .comm_share = 0.02};
}
DemoRun failed() {
    return {.number = 43,
            .steps = 4,
            .end = {protocol::Verdict::oom, 1, "rank 0 ran out of memory: 5.2 of 4.0 GiB"}};
}

std::vector<HistoryRow> history_rows() {
    auto const store = history_of({clean(), relaunched(), failed()});
    std::vector<HistoryRow> rows;
    for (auto const& run : db::list_runs(*store, "", 20).value()) {
        rows.push_back({run, db::analysis::state_of(
                                 run.run, {.controller_alive = false, .folder_exists = true})});
    }
    return rows;
}

void expect_golden(std::string const& name, std::string const& text) {
    std::filesystem::path const path = std::filesystem::path(OSORA_REPORT_DATA) / name;
    if (std::getenv("OSORA_UPDATE_GOLDEN") != nullptr) {
        ASSERT_TRUE(write_file_atomic(path, text).has_value());
    }
    auto const golden = read_file(path);
    ASSERT_TRUE(golden.has_value()) << golden.error().message;
    EXPECT_EQ(text, *golden) << path;
}

TEST(GoldenReport, RunAsText) {
    auto const text = render(report_of(relaunched()), ReportFormat::text);
    expect_narrow(text);
    expect_golden("run.txt", text);
}

TEST(GoldenReport, RunThatFailed) {
    auto const text = render(report_of(failed()), ReportFormat::text);
    expect_narrow(text);
    expect_golden("run_failed.txt", text);
}

TEST(GoldenReport, RunAsMarkdown) {
    expect_golden("run.md", render(report_of(relaunched()), ReportFormat::md));
}

TEST(GoldenReport, RunAsCsv) {
    expect_golden("run.csv", render(report_of(relaunched()), ReportFormat::csv));
}

TEST(GoldenReport, SeriesInEachForm) {
    auto const report = series_of({clean(), relaunched()});
    auto const text = render(report, ReportFormat::text);
    expect_narrow(text);
    expect_golden("series.txt", text);
    expect_golden("series.md", render(report, ReportFormat::md));
    expect_golden("series.csv", render(report, ReportFormat::csv));
}

TEST(GoldenReport, HistoryInEachForm) {
    auto const rows = history_rows();
    auto const text = render(rows, ReportFormat::text);
    expect_narrow(text);
    expect_golden("history.txt", text);
    expect_golden("history.md", render(rows, ReportFormat::md));
    expect_golden("history.csv", render(rows, ReportFormat::csv));
}

TEST(GoldenReport, AnEmptyHistorySaysWhatToDo) {
    EXPECT_EQ(render(std::vector<HistoryRow>{}, ReportFormat::text),
              "no run; osora submit starts one\n");
}

}  // namespace
}  // namespace osora::cli::test
