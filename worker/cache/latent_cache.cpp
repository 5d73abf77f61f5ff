#include "worker/cache/latent_cache.hpp"

#include "base/check.hpp"

#include <algorithm>

namespace osora::worker {

LatentCache::LatentCache(std::filesystem::path folder, CacheIndex const& index)
    : folder_(std::move(folder)), index_(&index) {
    std::int64_t end = 0;
    for (auto const& shard : index.latent_shards) ends_.push_back(end += shard.clips);
}

Result<CachedClip> LatentCache::read(std::uint32_t number) {
    auto const found = std::ranges::upper_bound(ends_, std::int64_t{number});
    OSORA_CHECK(found != ends_.end(), "a clip number is below index.clips()");
    auto const at = static_cast<std::size_t>(found - ends_.begin());
    LatentShard const& shard = index_->latent_shards[at];
    OSORA_TRY(auto const* rows, open_.get(at, [&] {
        return read_latent_shard(folder_ / shard.file, index_->latents, shard);
    }));
    std::int64_t const row = number - (*found - shard.clips);
    CachedClip clip;
    clip.mean = rows->mean[row];
    if (rows->std.defined()) clip.std = rows->std[row];
    clip.caption = rows->caption.const_data_ptr<std::int64_t>()[row];
    clip.row = rows->row.const_data_ptr<std::int64_t>()[row];
    clip.start_frame = rows->start_frame.const_data_ptr<std::int64_t>()[row];
    clip.fps = rows->fps.const_data_ptr<double>()[row];
    return clip;
}

}  // namespace osora::worker
