// Private to osora diff: the sentences and tables of a comparison, the same in text and in a page.
// Pure.
#pragma once

#include "cli/text/text_table.hpp"
#include "db/analysis/attribution/run_comparison.hpp"

#include <string>
#include <vector>

namespace osora::cli {

/// The unit of both sides' step times.
[[nodiscard]] TimeUnit diff_unit(db::analysis::RunComparison const& found);
/// "run 41 · demo-0041 · 8 ranks on 2 nodes · 109 ± 3 ms/step".
[[nodiscard]] std::string diff_side(db::analysis::ComparedSide const& side, TimeUnit const& unit);
/// "B is slower: +212 ms a step, +24.1 %; 95 %: ...".
[[nodiscard]] std::string diff_answer(db::analysis::RunComparison const& found,
                                      TimeUnit const& unit);
/// Where the gap is. Rows with less than a hundredth of the gap or a thousandth of the step are
/// left out; no rows: there is none that is larger.
[[nodiscard]] TextTable waterfall_table(db::analysis::Waterfall const& w, TimeUnit const& unit);
/// What the rows are means of, and what of the steps no phase records.
[[nodiscard]] std::vector<std::string> waterfall_notes(db::analysis::Waterfall const& w);
/// Of the POP project; no rows where it is not known.
[[nodiscard]] TextTable efficiency_table(db::analysis::RunComparison const& found);
/// A line for each rank that comes last most of the time.
[[nodiscard]] std::vector<std::string> diff_stragglers(db::analysis::RunComparison const& found);
/// "osora bisect 41 42", quoted for a shell; empty when B is not slower.
[[nodiscard]] std::string diff_next(db::analysis::RunComparison const& found,
                                    std::string const& asked_a, std::string const& asked_b);

}  // namespace osora::cli
