#include "worker/jobs/cached_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace osora::worker {
namespace {

std::optional<std::size_t> entry_of(protocol::LatentShard const& shard,
                                    std::vector<plan::BucketSection> const& buckets) {
    auto const found = std::ranges::find_if(buckets, [&](plan::BucketSection const& bucket) {
        return bucket.resolution == shard.resolution && bucket.num_frames == shard.num_frames;
    });
    if (found == buckets.end()) return std::nullopt;
    return static_cast<std::size_t>(found - buckets.begin());
}

Error misfit(CacheFolder const& cache, std::string const& why) {
    return Error{Errc::invalid_input, fmt::format("{}: {}", cache.path.string(), why)};
}

}  // namespace

Result<CacheFolder> open_cache_folder(std::filesystem::path const& path, std::string const& key) {
    auto index = protocol::open_cache(path);
    if (index.has_error()) return std::move(index).error().in(key);
    return CacheFolder{path, std::move(*index)};
}

plan::BucketSet cached_buckets(protocol::CacheIndex const& index,
                               std::vector<plan::BucketSection> const& buckets) {
    std::map<std::pair<std::size_t, plan::BucketKey>, plan::Bucket> filled;
    plan::BucketSet set;
    std::uint32_t next = 0;
    for (auto const& shard : index.latent_shards) {
        std::uint32_t const first = next;
        next += static_cast<std::uint32_t>(shard.clips);
        auto const entry = entry_of(shard, buckets);
        if (!entry) {
            for (std::uint32_t clip = first; clip < next; ++clip) set.unused_clips.push_back(clip);
            continue;
        }
        if (shard.clips == 0) continue;
        plan::BucketKey const key{shard.height, shard.width, shard.num_frames};
        plan::Bucket& bucket = filled[{*entry, key}];
        bucket.entry = *entry;
        bucket.key = key;
        for (std::uint32_t clip = first; clip < next; ++clip) bucket.clips.push_back(clip);
        bucket.shares.resize(bucket.clips.size(), static_cast<float>(shard.share));
        bucket.weight += shard.share * static_cast<double>(shard.clips);
    }
    for (auto& [place, bucket] : filled) set.buckets.push_back(std::move(bucket));
    std::ranges::stable_sort(set.buckets, [](plan::Bucket const& a, plan::Bucket const& b) {
        return a.entry != b.entry ? a.entry < b.entry : a.clips.size() > b.clips.size();
    });
    for (std::size_t i = 0; i < buckets.size(); ++i) {
        if (std::ranges::find(set.buckets, i, &plan::Bucket::entry) == set.buckets.end())
            set.empty_entries.push_back(i);
    }
    return set;
}

Result<void> check_latents_fit(CacheFolder const& cache, plan::ModelShape const& model) {
    auto const& latents = cache.index.latents;
    if (cache.index.clips() == 0) return misfit(cache, "it has no latents");
    if (latents.channels != model.in_channels) {
        return misfit(cache,
                      fmt::format("its latents have {} channels, {} takes {} (model.in_channels)",
                                  latents.channels, model.arch, model.in_channels));
    }
    // An architecture in pixel space has no autoencoder to compare latents with.
    bool const any = model.vae.spatial == 1 && model.vae.temporal == 1;
    if (any || (latents.spatial == model.vae.spatial && latents.temporal == model.vae.temporal))
        return {};
    return misfit(cache, fmt::format("its latents are of {} frames x {} pixels, {} takes {} x {}",
                                     latents.temporal, latents.spatial, model.arch,
                                     model.vae.temporal, model.vae.spatial));
}

bool fills_text(CacheFolder const& cache, plan::ModelShape const& model) {
    return model.family == plan::ModelFamily::mmdit && !cache.index.text.padded;
}

Result<void> check_text_fits(CacheFolder const& cache, plan::ModelShape const& model) {
    auto const& text = cache.index.text;
    if (cache.index.text_shards.empty()) return misfit(cache, "it has no captions");
    if (text.channels != model.caption_channels)
        return misfit(
            cache, fmt::format("its embeddings are {} wide, {} takes {} (model.caption_channels)",
                               text.channels, model.arch, model.caption_channels));
    bool const pooled = model.family == plan::ModelFamily::mmdit && text.pooled > 0;
    if (pooled && text.pooled != model.pooled_channels)
        return misfit(cache, fmt::format("its pooled vectors are {} wide, {} takes {} "
                                         "(model.pooled_channels)",
                                         text.pooled, model.arch, model.pooled_channels));
    return {};
}

}  // namespace osora::worker
