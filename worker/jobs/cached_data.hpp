// A cache as training sees it: the buckets of its clips, and whether it fits the model. Pure,
// except open_cache_folder().
#pragma once

#include "plan/buckets/assign.hpp"
#include "plan/config/sections/bucket_section.hpp"
#include "plan/model/model_description.hpp"
#include "protocol/cache_index.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::worker {

struct CacheFolder {
    std::filesystem::path path;
    protocol::CacheIndex index;
};
/// `key`: run file key, for errors.
[[nodiscard]] Result<CacheFolder> open_cache_folder(std::filesystem::path const& path,
                                                    std::string const& key);

/// Clips by their number in the cache, in the buckets of the run file that have the same resolution
/// and num_frames. Clips of other buckets are unused.
[[nodiscard]] plan::BucketSet cached_buckets(protocol::CacheIndex const& index,
                                             std::vector<plan::BucketSection> const& buckets);

/// invalid_input that names both sides: channels, compression, or no latents at all.
[[nodiscard]] Result<void> check_latents_fit(CacheFolder const& cache,
                                             plan::ModelShape const& model);
/// Whether captions are filled with zeros up to the model's text_tokens. MMDiT reads padding: with
/// as many rows as the longest caption beside it a sample's loss would depend on the ranks. A cache
/// with padding has rows that the encoder made.
[[nodiscard]] bool fills_text(CacheFolder const& cache, plan::ModelShape const& model);
/// invalid_input that names both sides: the width of embeddings, or no captions at all.
[[nodiscard]] Result<void> check_text_fits(CacheFolder const& cache, plan::ModelShape const& model);

}  // namespace osora::worker
