#include "cli/plan/cached_clips.hpp"

#include <map>
#include <tuple>
#include <utility>

namespace osora::cli {

plan::ClipStatistics cached_clips(protocol::CacheIndex const& index,
                                  plan::RunConfig const& config) {
    plan::ClipStatistics found;
    for (auto const& bucket : config.bucket) {
        plan::BucketClips row;
        std::map<std::pair<int, int>, double> shapes;
        for (auto const& shard : index.latent_shards) {
            if (shard.resolution != bucket.resolution || shard.num_frames != bucket.num_frames)
                continue;
            double const clips = shard.share * static_cast<double>(shard.clips);
            row.clips += clips;
            shapes[{shard.height, shard.width}] += clips;
            if (shard.clips > 0 && shard.height * shard.width > row.height_max * row.width_max) {
                row.height_max = shard.height;
                row.width_max = shard.width;
            }
        }
        double most = 0;
        for (auto const& [shape, clips] : shapes) {
            if (clips <= most) continue;
            most = clips;
            std::tie(row.height, row.width) = shape;
        }
        found.buckets.push_back(row);
    }
    return found;
}

plan::VaeShape cached_compression(protocol::CacheIndex const& index) {
    auto const& latents = index.latents;
    return {.temporal = latents.temporal,
            .spatial = latents.spatial,
            .chunk_frames = latents.chunk_frames};
}

}  // namespace osora::cli
