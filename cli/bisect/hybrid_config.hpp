// A run file between two others: the settings of one, with some keys as the other has them. Pure;
// the trials of osora bisect are made of it.
#pragma once

#include "base/result.hpp"
#include "protocol/json.hpp"

#include <set>
#include <string>

namespace osora::cli {

/// `good` with each of `keys` as in `bad`, which may mean without it. Keys are those of
/// db::flatten: "parallel.overlap", "bucket[1].num_frames", "nccl.NCCL_ALGO". invalid_input: an
/// array would be left with a hole, because only some keys of an element were named.
[[nodiscard]] Result<protocol::json::value> hybrid_config(protocol::json::value const& good,
                                                          protocol::json::value const& bad,
                                                          std::set<std::string> const& keys);

}  // namespace osora::cli
