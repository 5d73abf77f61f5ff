// Cached embeddings of captions by hash, mapped from their shards, and batches of them. One thread
// per reader.
#pragma once

#include "worker/cache/open_shards.hpp"
#include "worker/cache/text_shard.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace osora::worker {

/// Views; the tensors keep their shard mapped.
struct CachedCaption {
    at::Tensor embedding;  // (L, channels), L >= 1
    at::Tensor pooled;     // (V), or undefined
};

/// In the form of MicroBatch, in fp32 on the CPU.
struct TextBatch {
    at::Tensor text;    // (B, L, channels); shorter ones are padded with zeros
    at::Tensor mask;    // (B, L) bool, true: token
    at::Tensor pooled;  // (B, V), or undefined
};

class TextCache {
public:
    /// `index` must belong to `folder` and outlive this object.
    TextCache(std::filesystem::path folder, CacheIndex const& index);

    /// nullopt: not cached. Errors: those of a shard that cannot be read.
    [[nodiscard]] Result<std::optional<CachedCaption>> find(std::int64_t hash);

    /// The embedding of "", used for no caption, in fp32 on the CPU; undefined if it is not cached.
    [[nodiscard]] Result<CachedCaption> null_caption();

    /// Captions in their order, each cut to `tokens_max`. L is that of the longest, at least
    /// `tokens_min`. corrupt: one is not cached, and no later try would find it.
    [[nodiscard]] Result<TextBatch> batch(std::span<std::int64_t const> hashes,
                                          std::int64_t tokens_max, std::int64_t tokens_min = 1);

private:
    std::filesystem::path folder_;
    CacheIndex const* index_;
    OpenShards<TextRows> open_;
};

}  // namespace osora::worker
