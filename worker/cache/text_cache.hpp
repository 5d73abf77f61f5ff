// Cached embeddings of captions by hash, mapped from their shards, and batches of them. One thread
// uses a reader.
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

/// As MicroBatch has them, in fp32 on the CPU.
struct TextBatch {
    at::Tensor text;    // (B, L, channels), L of the longest; zeros behind the shorter
    at::Tensor mask;    // (B, L) bool, true: token
    at::Tensor pooled;  // (B, V), or undefined
};

class TextCache {
public:
    /// `index` must be of `folder` and outlive this.
    TextCache(std::filesystem::path folder, CacheIndex const& index);

    /// nullopt: not cached. Errors: those of a shard that does not read.
    [[nodiscard]] Result<std::optional<CachedCaption>> find(std::int64_t hash);

    /// That of "", which stands for none, in fp32 on the CPU; undefined where it is not cached.
    [[nodiscard]] Result<CachedCaption> null_caption();

    /// Captions in their order, each cut to `tokens_max`. not_found: one is not cached.
    [[nodiscard]] Result<TextBatch> batch(std::span<std::int64_t const> hashes,
                                          std::int64_t tokens_max);

private:
    std::filesystem::path folder_;
    CacheIndex const* index_;
    OpenShards<TextRows> open_;
};

}  // namespace osora::worker
