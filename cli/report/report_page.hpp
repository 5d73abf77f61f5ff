// A report as one self-contained HTML page: text, tables and the charts' data; a script in the page
// draws the charts. Pure.
#pragma once

#include "cli/report/report_phrases.hpp"
#include "cli/text/page_head.hpp"
#include "cli/text/text_table.hpp"
#include "protocol/json.hpp"
#include "web/report/page_assets.hpp"

#include <string>
#include <string_view>
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

/// What a server puts around a report; a report in a file has none of it.
struct PageFrame {
    std::string above;             // HTML, before the title
    std::string_view style = {};   // a second style sheet
    std::string_view script = {};  // a second script, which may read from the page's server
};

/// Title, style sheets and scripts of html_page().
[[nodiscard]] PageHead head_of(ReportPage const& page, web::PageAssets const& assets,
                               PageFrame const& frame = {});

/// Without a script in `assets`: tables, and a line that says that charts are missing.
[[nodiscard]] std::string html_page(ReportPage const& page, web::PageAssets const& assets,
                                    PageFrame const& frame = {});

}  // namespace osora::cli
