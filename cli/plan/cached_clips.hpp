// Facts about cached latents that a plan needs: the number of clips per bucket, and the compression
// of their autoencoder.
#pragma once

#include "plan/clip_statistics.hpp"
#include "plan/model/model_description.hpp"
#include "protocol/cache_index.hpp"

namespace osora::cli {

/// Clips by bucket of the run file, each with its most common shape and its largest; decodes
/// nothing.
[[nodiscard]] plan::ClipStatistics cached_clips(protocol::CacheIndex const& index,
                                                plan::RunConfig const& config);

[[nodiscard]] plan::VaeShape cached_compression(protocol::CacheIndex const& index);

}  // namespace osora::cli
