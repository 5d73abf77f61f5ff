// A yes or no of each rank, and whether any of them said yes.
#pragma once

#include "base/result.hpp"
#include "worker/parallel/process_group.hpp"

#include <optional>

namespace osora::worker {

/// One all_reduce of a number, through Gloo; every rank of `group` calls it. Without a group the
/// own word decides. unreachable: a peer is gone.
[[nodiscard]] Result<bool> on_any_rank(std::optional<Group> const& group, bool own);

}  // namespace osora::worker
