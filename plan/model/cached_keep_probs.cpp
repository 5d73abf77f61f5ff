#include "plan/model/cached_keep_probs.hpp"

#include "plan/buckets/cached_share.hpp"
#include "plan/clip_statistics.hpp"
#include "plan/model/trained_model.hpp"

#include <algorithm>
#include <vector>

namespace osora::plan {

Result<void> check_keep_probs(RunConfig const& config, protocol::CacheIndex const& index) {
    if (std::ranges::all_of(config.bucket, [](auto const& each) { return each.keep_prob >= 1; }))
        return {};
    OSORA_TRY(auto const shape, sample_shape(config));
    OSORA_TRY(auto const table, bucket_table(config, shape));
    std::vector<CachedShare> cached;
    for (auto const& shard : index.latent_shards)
        cached.push_back({shard.resolution, shard.num_frames, shard.share});
    return check_cached_shares(table, cached);
}

}  // namespace osora::plan
