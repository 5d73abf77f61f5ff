// A report as one self-contained HTML page: text, tables and the charts' data; a script in the page
// draws the charts. Pure.
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
/// A chart: web/report/main.js draws `data`; its "kind" says how.
struct PageFigure {
    std::string id;  // a-z and -
    std::string title, caption;
    std::string label;  // text for a reader who cannot see the chart
    protocol::json::object data;
};
struct ReportPage {
    ReportPhrases words;
    bool good = true;  // false: the title has the colour of a bad verdict
    std::vector<PageTable> tables;
    std::vector<PageFigure> figures;
};

[[nodiscard]] ReportPage page_of(db::analysis::RunReport const& report,
                                 std::vector<PageFigure> figures);
[[nodiscard]] ReportPage page_of(db::analysis::SeriesReport const& report,
                                 std::vector<PageFigure> figures);

/// Without a script in `assets`: tables, and a line that says that charts are missing.
[[nodiscard]] std::string html_page(ReportPage const& page, web::PageAssets const& assets);

}  // namespace osora::cli
