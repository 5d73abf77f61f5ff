// Ranks compare what they read before they train or encode anything.
#pragma once

#include "worker/data/read_summary.hpp"
#include "worker/parallel/process_group.hpp"

#include <optional>

namespace osora::worker {

/// Collective. Errors: corrupt, on every rank, naming the ranks that differ; unreachable.
[[nodiscard]] Result<void> check_same_data(std::optional<Group> const& group,
                                           ReadSummary const& own);

}  // namespace osora::worker
