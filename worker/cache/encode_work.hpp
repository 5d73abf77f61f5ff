// Which clips and captions go into which shard of a cache: depends only on the buckets, the
// captions and the sizes, so that any number of ranks writes the same files. Pure; no LibTorch.
#pragma once

#include "plan/buckets/assign.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace osora::worker {

/// Maximum size of a shard. A shard also holds at most 1/64 of all entries, so that the work
/// divides over ranks and little is lost when a job is killed.
struct ShardLimits {
    std::int64_t bytes = std::int64_t{256} << 20;
    std::int64_t entry_bytes = 1;  // of a caption: its maximum
};

/// One shard of latents: clips with the same share of one bucket, in the order of the manifest.
struct LatentWork {
    std::size_t bucket = 0;  // of the set
    float share = 1;
    std::vector<std::uint32_t> clips;
};
/// `clip_bytes[i]`: bytes of a clip of bucket i. Buckets in order; a bucket's larger shares first.
[[nodiscard]] std::vector<LatentWork> latent_work(plan::BucketSet const& set,
                                                  std::span<std::int64_t const> clip_bytes,
                                                  std::int64_t shard_bytes);

struct Caption {
    std::int64_t hash = 0;
    std::uint32_t clip = 0;  // the first clip that has it
};
/// Shards of captions, each text once, by ascending hash. `texts[i]`: caption of clip i; `used`:
/// clips of any bucket, ascending.
[[nodiscard]] std::vector<std::vector<Caption>> caption_work(
    std::span<std::string_view const> texts, std::span<std::uint32_t const> used,
    ShardLimits const& limits);

/// Clips of any bucket of the set, ascending, each once.
[[nodiscard]] std::vector<std::uint32_t> used_clips(plan::BucketSet const& set);

}  // namespace osora::worker
