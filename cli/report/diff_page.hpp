// A comparison of two runs as a page: the words and tables of `osora diff`, all items that differ,
// and the charts of both. Pure.
#pragma once

#include "cli/report/report_page.hpp"
#include "db/analysis/attribution/run_comparison.hpp"

#include <string>
#include <vector>

namespace osora::cli {

/// The charts of one side: those of its last run, by run_figures().
struct DiffFigures {
    std::vector<PageFigure> a, b;
};

/// `asked_a` and `asked_b`: as for diff_text().
[[nodiscard]] ReportPage diff_page(db::analysis::RunComparison const& found,
                                   std::string const& asked_a, std::string const& asked_b,
                                   DiffFigures figures);

}  // namespace osora::cli
