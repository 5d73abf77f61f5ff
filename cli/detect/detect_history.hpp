// What history.db says of series and of nodes, judged.
#pragma once

#include "base/result.hpp"
#include "cli/detect/detect_render.hpp"
#include "db/store/store.hpp"

#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

/// Puts what the repeat of a suspected run says in the place of the suspicion, when there was one.
[[nodiscard]] Result<void> use_repeat(db::Store& store, std::string const& series,
                                      std::vector<db::analysis::SeriesRun> const& runs,
                                      db::analysis::DetectionOptions const& options,
                                      db::analysis::Detection& detection);

enum class DetectWhat { series, nodes, all };

/// `series`: of this one only; not_found: there is none of that name. Repeats of suspected runs
/// stand with what they repeat.
[[nodiscard]] Result<HistoryDetection> detect_history(
    db::Store& store, DetectWhat what, std::optional<std::string> const& series,
    db::analysis::DetectionOptions const& options,
    db::analysis::NodeDriftOptions const& node_options);

}  // namespace osora::cli
