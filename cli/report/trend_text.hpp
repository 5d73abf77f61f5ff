// How the step times of a series changed over time: one sentence per size, the same in every format
// of the report, and the table of its changes. Pure.
#pragma once

#include "cli/text/text_table.hpp"
#include "db/analysis/report/series_report.hpp"

#include <string>
#include <vector>

namespace osora::cli {

/// "stage1 became 1.9x slower at run 41 on 2026-11-20 and has stayed so: 7.31 -> 14.1 s/step."
[[nodiscard]] std::string trend_sentence(std::string const& name,
                                         db::analysis::Detection const& trend);

/// Sentences for the sizes whose step time changed, that of the newest run first; if none changed,
/// for the newest run's size only.
[[nodiscard]] std::vector<std::string> trend_sentences(db::analysis::SeriesReport const& report);

/// What to do about a regression, as commands.
[[nodiscard]] std::vector<std::string> trend_commands(db::analysis::SeriesReport const& report);

/// Every change of level, oldest first; without rows when there is none.
[[nodiscard]] TextTable change_table(db::analysis::SeriesReport const& report);

/// "2026-11-20"; "-" when unknown.
[[nodiscard]] std::string date_text(std::optional<std::int64_t> wall_us);
/// "+93.2 %"
[[nodiscard]] std::string change_text(double effect);

}  // namespace osora::cli
