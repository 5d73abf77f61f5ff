// Private to the report commands: what a report says in words, the same in every form for people.
#pragma once

#include "db/analysis/report/run_report.hpp"
#include "db/analysis/report/series_report.hpp"

#include <string>
#include <vector>

namespace osora::cli {

struct Paragraph {
    std::string label;               // "speed"
    std::vector<std::string> lines;  // each stands on a line of its own
};
using Paragraphs = std::vector<Paragraph>;

struct ReportPhrases {
    std::string title;
    std::vector<std::string> about;  // lines below it: where, when
    Paragraphs answer;               // how fast, did it learn
    Paragraphs why;                  // what held it up, what went wrong, what the figures hide
    std::vector<std::string> next;   // commands worth trying, with the reason behind ": "
};
[[nodiscard]] ReportPhrases phrases_of(db::analysis::RunReport const& report);
[[nodiscard]] ReportPhrases phrases_of(db::analysis::SeriesReport const& report);

/// "osora resume 42" and "" or the reason; command is empty for advice that is none.
struct Advice {
    std::string command, reason;
};
[[nodiscard]] Advice advice_of(std::string const& next);

}  // namespace osora::cli
