// Whether any rank answers yes.
#pragma once

#include "base/result.hpp"
#include "worker/parallel/process_group.hpp"

#include <optional>

namespace osora::worker {

/// One all_reduce of a number, through Gloo; every rank of `group` must call it. Without a group
/// this rank's answer decides. unreachable: a peer is gone.
[[nodiscard]] Result<bool> on_any_rank(std::optional<Group> const& group, bool own);

}  // namespace osora::worker
