#include "worker/cache/text_cache.hpp"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>

namespace osora::worker {

TextCache::TextCache(std::filesystem::path folder, CacheIndex const& index)
    : folder_(std::move(folder)), index_(&index) {}

Result<std::optional<CachedCaption>> TextCache::find(std::int64_t hash) {
    auto const& shards = index_->text_shards;
    auto const behind = std::ranges::upper_bound(shards, hash, {}, &TextShard::first);
    if (behind == shards.begin()) return std::optional<CachedCaption>();
    auto const at = static_cast<std::size_t>(behind - shards.begin()) - 1;
    OSORA_TRY(auto const* rows, open_.get(at, [&] {
        return read_text_shard(folder_ / shards[at].file, index_->text, shards[at]);
    }));
    auto const* const first = rows->caption.const_data_ptr<std::int64_t>();
    auto const* const end = first + rows->caption.size(0);
    auto const* const found = std::lower_bound(first, end, hash);
    if (found == end || *found != hash) return std::optional<CachedCaption>();
    auto const* const offset = rows->offset.const_data_ptr<std::int64_t>() + (found - first);
    CachedCaption caption;
    caption.embedding = rows->embedding.narrow(0, offset[0], offset[1] - offset[0]);
    if (rows->pooled.defined()) caption.pooled = rows->pooled[found - first];
    return std::optional(std::move(caption));
}

Result<CachedCaption> TextCache::null_caption() {
    OSORA_TRY(auto const found, find(protocol::caption_hash("")));
    if (!found) return CachedCaption();
    CachedCaption null{.embedding = found->embedding.to(at::kFloat), .pooled = {}};
    if (found->pooled.defined()) null.pooled = found->pooled.to(at::kFloat);
    return null;
}

Result<TextBatch> TextCache::batch(std::span<std::int64_t const> hashes, std::int64_t tokens_max,
                                   std::int64_t tokens_min) {
    std::vector<CachedCaption> captions;
    std::int64_t longest = tokens_min;
    for (std::int64_t const hash : hashes) {
        OSORA_TRY(auto caption, find(hash));
        if (!caption)
            return Error{Errc::corrupt, fmt::format("text.embeddings: {}: no caption with hash {}",
                                                    folder_.string(), hash)};
        std::int64_t const tokens = std::min(caption->embedding.size(0), tokens_max);
        caption->embedding = caption->embedding.narrow(0, 0, tokens);
        longest = std::max(longest, tokens);
        captions.push_back(std::move(*caption));
    }
    auto const count = static_cast<std::int64_t>(captions.size());
    TextBatch batch;
    batch.text = at::zeros({count, longest, index_->text.channels}, at::kFloat);
    batch.mask = at::zeros({count, longest}, at::kBool);
    if (index_->text.pooled > 0) batch.pooled = at::zeros({count, index_->text.pooled}, at::kFloat);
    for (std::int64_t i = 0; i < count; ++i) {
        auto const& caption = captions[static_cast<std::size_t>(i)];
        std::int64_t const tokens = caption.embedding.size(0);
        batch.text[i].narrow(0, 0, tokens).copy_(caption.embedding);
        batch.mask[i].narrow(0, 0, tokens).fill_(true);
        if (batch.pooled.defined()) batch.pooled[i].copy_(caption.pooled);
    }
    return batch;
}

}  // namespace osora::worker
