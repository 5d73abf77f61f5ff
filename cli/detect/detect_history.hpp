// Analyses the series and nodes of history.db.
#pragma once

#include "base/result.hpp"
#include "cli/detect/detect_render.hpp"
#include "db/store/store.hpp"

#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

/// Replaces the suspicion by the result of the suspected run's repeat, if there was one.
[[nodiscard]] Result<void> use_repeat(db::Store& store, std::string const& series,
                                      std::vector<db::analysis::SeriesRun> const& runs,
                                      db::analysis::DetectionOptions const& options,
                                      db::analysis::Detection& detection);

enum class DetectWhat { series, nodes, all };

/// `series`: only this one; not_found: no series has this name. Repeats of suspected runs are
/// listed with the run that they repeat.
[[nodiscard]] Result<HistoryDetection> detect_history(
    db::Store& store, DetectWhat what, std::optional<std::string> const& series,
    db::analysis::DetectionOptions const& options,
    db::analysis::NodeDriftOptions const& node_options);

}  // namespace osora::cli
