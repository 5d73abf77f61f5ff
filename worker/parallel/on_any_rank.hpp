// The largest numbers of all ranks, and whether any rank answers yes.
#pragma once

#include "base/result.hpp"
#include "worker/parallel/process_group.hpp"

#include <optional>
#include <vector>

namespace osora::worker {

/// One all_reduce of `own`, through Gloo; every rank of `group` must call it with as many numbers.
/// Without a group they are this rank's. `purpose` names it in records of collectives.
/// unreachable: a peer is gone.
[[nodiscard]] Result<std::vector<double>> largest_of_ranks(std::optional<Group> const& group,
                                                           std::vector<double> own,
                                                           char const* purpose);

/// The same of one answer.
[[nodiscard]] Result<bool> on_any_rank(std::optional<Group> const& group, bool own);

}  // namespace osora::worker
