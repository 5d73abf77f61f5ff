// What a plan needs to know of cached latents: how many clips each bucket has, and by what their
// autoencoder compressed them.
#pragma once

#include "plan/clip_statistics.hpp"
#include "plan/model/model_description.hpp"
#include "protocol/cache_index.hpp"

namespace osora::cli {

/// Clips by bucket of the run file, each with its most common shape; nothing is decoded.
[[nodiscard]] plan::ClipStatistics cached_clips(protocol::CacheIndex const& index,
                                                plan::RunConfig const& config);

[[nodiscard]] plan::VaeShape cached_compression(protocol::CacheIndex const& index);

}  // namespace osora::cli
