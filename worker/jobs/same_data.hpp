// Ranks compare what they read before they train or encode anything, and agree on what crashed.
#pragma once

#include "worker/data/crashed_clips.hpp"
#include "worker/data/read_summary.hpp"
#include "worker/parallel/process_group.hpp"

#include <optional>

namespace osora::worker {

/// Collective. Errors: corrupt, on every rank, naming the ranks that differ; unreachable.
[[nodiscard]] Result<void> check_same_data(std::optional<Group> const& group,
                                           ReadSummary const& own);

/// Collective. What any rank has found: a network file system may show a note of the last attempt
/// to some ranks only, and ranks that leave out other clips would train on other samples. Errors:
/// unreachable.
[[nodiscard]] Result<CrashedClips> agree_on_crashed(std::optional<Group> const& group,
                                                    CrashedClips const& own);

}  // namespace osora::worker
