// Private to the report commands: the sentences of a report, the same in every text format.
#pragma once

#include "db/analysis/report/run_report.hpp"
#include "db/analysis/report/series_report.hpp"

#include <string>
#include <vector>

namespace osora::cli {

struct Paragraph {
    std::string label;               // "speed"
    std::vector<std::string> lines;  // each is a separate line
};
using Paragraphs = std::vector<Paragraph>;

struct ReportPhrases {
    std::string title;
    std::vector<std::string> about;  // lines below it: where, when
    Paragraphs answer;               // how fast, did it learn
    Paragraphs why;                  // what slowed it down, what went wrong, what the figures hide
    std::vector<std::string> next;   // commands to try next, with the reason after ": "
};
[[nodiscard]] ReportPhrases phrases_of(db::analysis::RunReport const& report);
[[nodiscard]] ReportPhrases phrases_of(db::analysis::SeriesReport const& report);

/// {"osora resume 42", ""} or with the reason; command is empty for advice without one.
struct Advice {
    std::string command, reason;
};
[[nodiscard]] Advice advice_of(std::string const& next);

}  // namespace osora::cli
