#include "worker/jobs/encode/check_captions.hpp"

#include "worker/cache/latent_shard.hpp"
#include "worker/cache/text_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace osora::worker {
namespace {

/// A caption and who has it: a line of the manifest, or of what the cache was made from.
struct Wanted {
    std::int64_t hash = 0;
    std::int64_t line = 0;
};

Result<std::vector<Wanted>> of_latents(CacheFolder const& cache) {
    std::vector<Wanted> wanted;
    for (auto const& shard : cache.index.latent_shards) {
        OSORA_TRY(auto const rows,
                  read_latent_shard(cache.path / shard.file, cache.index.latents, shard));
        auto const* const hashes = rows.caption.const_data_ptr<std::int64_t>();
        auto const* const lines = rows.row.const_data_ptr<std::int64_t>();
        for (std::int64_t i = 0; i < shard.clips; ++i) wanted.push_back({hashes[i], lines[i]});
    }
    return wanted;
}

std::vector<Wanted> of_manifest(TrainData const& data) {
    std::vector<Wanted> wanted;
    for (auto const& bucket : data.schedule->buckets()) {
        for (auto const number : bucket.clips) {
            Clip const& clip = data.manifest.clips[number];
            if (!clip.gone) wanted.push_back({protocol::caption_hash(clip.text), clip.line});
        }
    }
    return wanted;
}

}  // namespace

Result<void> check_captions(TrainData const& data) {
    if (!data.text) return {};
    if (data.latents && data.latents->path == data.text->path) return {};
    std::vector<Wanted> wanted;
    if (data.latents) {
        OSORA_TRY(wanted, of_latents(*data.latents));
    } else {
        wanted = of_manifest(data);
    }
    std::ranges::sort(wanted, {},
                      [](Wanted const& each) { return std::pair(each.hash, each.line); });
    auto const [first, last] = std::ranges::unique(wanted, {}, &Wanted::hash);
    wanted.erase(first, last);
    TextCache cache(data.text->path, data.text->index);
    std::size_t missing = 0;
    std::int64_t line = 0;  // the first that lacks its caption
    for (Wanted const& each : wanted) {
        OSORA_TRY(auto const found, cache.find(each.hash));
        if (found) continue;
        if (missing++ == 0 || each.line < line) line = each.line;
    }
    if (missing == 0) return {};
    return Error{Errc::not_found,
                 fmt::format("text.embeddings: {}: {} of {} captions are not in it, the first of "
                             "line {} of the clips; encode these clips, or leave the key out for "
                             "null captions",
                             data.text->path.string(), missing, wanted.size(), line)};
}

}  // namespace osora::worker
