// A comparison of two runs as text for 80 columns and as JSON. Pure.
#pragma once

#include "db/analysis/attribution/run_comparison.hpp"
#include "protocol/json.hpp"

#include <string>

namespace osora::cli {

/// Both runs, the answer, the waterfall, efficiencies, and what differs; ends with a newline.
/// `asked_a` and `asked_b` are the user's names for the sides, for the suggested next command.
[[nodiscard]] std::string diff_text(db::analysis::RunComparison const& found,
                                    std::string const& asked_a, std::string const& asked_b);

/// Members of osora.diff/1.
[[nodiscard]] protocol::json::object diff_json(db::analysis::RunComparison const& found);

/// 0 same speed or faster, 1 slower, 3 undecided or other work.
[[nodiscard]] int diff_exit_code(db::analysis::RunComparison const& found);

}  // namespace osora::cli
