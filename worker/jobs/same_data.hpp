// Ranks compare what they read before anything is trained on or encoded.
#pragma once

#include "worker/data/read_summary.hpp"
#include "worker/parallel/process_group.hpp"

#include <optional>

namespace osora::worker {

/// Collective. Errors: corrupt, on every rank, naming those that differ; unreachable.
[[nodiscard]] Result<void> check_same_data(std::optional<Group> const& group,
                                           ReadSummary const& own);

}  // namespace osora::worker
