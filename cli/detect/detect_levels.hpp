// Private to osora detect: the levels of a series as text, for files and histories. Pure.
#pragma once

#include "cli/text/text_table.hpp"
#include "db/analysis/changepoint/series_verdict.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::cli {

constexpr int kDetectColumns = 80, kDetectIndent = 9;

/// Names of the positions and levels of a series.
struct LevelWords {
    std::string places, level;              // titles: "runs", "ms/step"
    std::function<std::string(int)> place;  // "41" for index 3
    TimeUnit unit;                          // levels are shown in
    std::string unit_name;                  // printed after a level: " ms/step"
};

/// "regression: 14.1 s/step from run 42 on, 93.2 % over the 7.30 s/step before"
[[nodiscard]] std::string headline(db::analysis::changepoint::Segmentation const& robust,
                                   db::analysis::changepoint::SeriesVerdict const& verdict,
                                   LevelWords const& words);
/// An empty line, the table of levels, and what is known about the noise.
[[nodiscard]] std::string levels_text(std::vector<double> const& values,
                                      db::analysis::changepoint::Segmentation const& robust,
                                      LevelWords const& words);

/// `body` beside a label, in 80 columns.
[[nodiscard]] std::string labelled(std::string_view label, std::string const& body);
/// "+9.9 %"
[[nodiscard]] std::string signed_percent(double effect);

}  // namespace osora::cli
