// A report as one HTML page that needs nothing else: words, tables and the charts' data; the charts
// are drawn by a script in the page. Pure.
#pragma once

#include "cli/report/report_phrases.hpp"
#include "cli/text/text_table.hpp"
#include "protocol/json.hpp"
#include "web/report/page_assets.hpp"

#include <string>
#include <vector>

namespace osora::cli {

struct PageTable {
    std::string caption;
    TextTable table;
};
/// A chart: `data` is what web/report/main.js draws; "kind" names how.
struct PageFigure {
    std::string id;  // a-z and -
    std::string title, caption;
    std::string label;  // what a reader who cannot see it is told
    protocol::json::object data;
};
struct ReportPage {
    ReportPhrases words;
    bool good = true;  // false: the title says so in colour too
    std::vector<PageTable> tables;
    std::vector<PageFigure> figures;
};

[[nodiscard]] ReportPage page_of(db::analysis::RunReport const& report,
                                 std::vector<PageFigure> figures);
[[nodiscard]] ReportPage page_of(db::analysis::SeriesReport const& report,
                                 std::vector<PageFigure> figures);

/// Without a script in `assets`: tables, and a line that says what is missing.
[[nodiscard]] std::string html_page(ReportPage const& page, web::PageAssets const& assets);

}  // namespace osora::cli
