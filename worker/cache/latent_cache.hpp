// Cached latents by number, mapped from their shards: training reads them instead of clips. One
// thread per reader; several readers of one folder are independent.
#pragma once

#include "worker/cache/latent_shard.hpp"
#include "worker/cache/open_shards.hpp"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace osora::worker {

/// Views; the tensors keep their shard mapped.
struct CachedClip {
    at::Tensor mean;  // (C, T, H, W)
    at::Tensor std;   // undefined: not cached
    std::int64_t caption = 0;
    std::int64_t row = 0;
    std::int64_t start_frame = 0;
    double fps = 0;
};

class LatentCache {
public:
    /// `index` must belong to `folder` and outlive this object.
    LatentCache(std::filesystem::path folder, CacheIndex const& index);

    /// Clip `number` in [0, index.clips()): shards in order, rows in order. Errors: those of a
    /// shard that cannot be read.
    [[nodiscard]] Result<CachedClip> read(std::uint32_t number);

private:
    std::filesystem::path folder_;
    CacheIndex const* index_;
    std::vector<std::int64_t> ends_;  // of each shard: clips up to its end
    OpenShards<LatentRows> open_;
};

}  // namespace osora::worker
