// Whether the shares of a run file are those of the cache that it trains on. Pure.
#pragma once

#include "base/result.hpp"
#include "plan/config/run_config.hpp"
#include "protocol/cache_index.hpp"

namespace osora::plan {

/// invalid_input: a keep_prob of the run file that is not the cache's (buckets/cached_share).
/// Without one below 1 the cache's count.
[[nodiscard]] Result<void> check_keep_probs(RunConfig const& config,
                                            protocol::CacheIndex const& index);

}  // namespace osora::plan
