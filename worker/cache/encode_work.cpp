#include "worker/cache/encode_work.hpp"

#include "protocol/cache_index.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace osora::worker {
namespace {

constexpr std::size_t kShardsMin = 64;

std::size_t entries_max(std::int64_t shard_bytes, std::int64_t entry_bytes, std::size_t total) {
    auto const by_bytes = static_cast<std::size_t>(
        std::max<std::int64_t>(1, shard_bytes / std::max<std::int64_t>(1, entry_bytes)));
    return std::min(by_bytes, (total + kShardsMin - 1) / kShardsMin);
}

/// Runs of at most `most` entries.
template <class Entry, class Take>
void cut(std::vector<Entry> const& entries, std::size_t most, Take const& take) {
    for (std::size_t first = 0; first < entries.size(); first += most) {
        auto const end = std::min(first + most, entries.size());
        take(std::vector<Entry>(entries.begin() + static_cast<std::ptrdiff_t>(first),
                                entries.begin() + static_cast<std::ptrdiff_t>(end)));
    }
}

}  // namespace

std::vector<LatentWork> latent_work(plan::BucketSet const& set,
                                    std::span<std::int64_t const> clip_bytes,
                                    std::int64_t shard_bytes) {
    std::size_t total = 0;
    for (auto const& bucket : set.buckets) total += bucket.clips.size();
    std::vector<LatentWork> work;
    for (std::size_t b = 0; b < set.buckets.size(); ++b) {
        auto const& bucket = set.buckets[b];
        std::map<float, std::vector<std::uint32_t>, std::greater<>> by_share;
        for (std::size_t i = 0; i < bucket.clips.size(); ++i)
            by_share[bucket.shares[i]].push_back(bucket.clips[i]);
        std::size_t const most = entries_max(shard_bytes, clip_bytes[b], total);
        for (auto const& [share, clips] : by_share) {
            cut(clips, most, [&, share = share](std::vector<std::uint32_t> part) {
                work.push_back({b, share, std::move(part)});
            });
        }
    }
    return work;
}

std::vector<std::vector<Caption>> caption_work(std::span<std::string_view const> texts,
                                               std::span<std::uint32_t const> used,
                                               ShardLimits const& limits) {
    std::vector<Caption> captions;
    captions.reserve(used.size());
    for (std::uint32_t const clip : used)
        captions.push_back({protocol::caption_hash(texts[clip]), clip});
    std::ranges::stable_sort(captions, {}, &Caption::hash);
    auto const [first, last] = std::ranges::unique(captions, {}, &Caption::hash);
    captions.erase(first, last);
    std::vector<std::vector<Caption>> shards;
    cut(captions, entries_max(limits.bytes, limits.entry_bytes, captions.size()),
        [&](std::vector<Caption> part) { shards.push_back(std::move(part)); });
    return shards;
}

std::vector<std::uint32_t> used_clips(plan::BucketSet const& set) {
    std::vector<std::uint32_t> clips;
    for (auto const& bucket : set.buckets)
        clips.insert(clips.end(), bucket.clips.begin(), bucket.clips.end());
    std::ranges::sort(clips);
    auto const [first, last] = std::ranges::unique(clips);
    clips.erase(first, last);
    return clips;
}

}  // namespace osora::worker
