// A run file between two others: the settings of one, with some keys from the other. Pure; osora
// bisect makes its trials from it.
#pragma once

#include "base/result.hpp"
#include "protocol/json.hpp"

#include <set>
#include <string>

namespace osora::cli {

/// `good` with each of `keys` as in `bad`, where a key may be absent. Keys are those of
/// db::flatten: "parallel.overlap", "bucket[1].num_frames", "nccl.NCCL_ALGO". invalid_input: an
/// array would have a hole, because only some keys of an element were named.
[[nodiscard]] Result<protocol::json::value> hybrid_config(protocol::json::value const& good,
                                                          protocol::json::value const& bad,
                                                          std::set<std::string> const& keys);

}  // namespace osora::cli
