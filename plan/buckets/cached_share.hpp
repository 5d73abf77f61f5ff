// Whether the clips of a cache went into buckets as those of a run file would take them. Pure.
#pragma once

#include "plan/buckets/assign.hpp"

#include <span>
#include <string>

namespace osora::plan {

/// Of clips in a cache: their bucket, and the share of their training that is in it, (0, 1].
struct CachedShare {
    std::string resolution;
    int num_frames = 1;
    double share = 1;
};

/// A bucket with keep_prob = 1 takes its clips with the shares that they have in the cache, which
/// is without others of the encode run's buckets. invalid_input: a keep_prob below 1 with which
/// clips of no size have the share of cached ones.
[[nodiscard]] Result<void> check_cached_shares(BucketTable const& table,
                                               std::span<CachedShare const> cached);

}  // namespace osora::plan
