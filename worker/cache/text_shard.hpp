// Embeddings of captions in one safetensors file, sorted by hash, without padding. Written by the
// encode job, read by training.
#pragma once

#include "worker/cache/latent_shard.hpp"

namespace osora::worker {

struct TextRows {
    at::Tensor caption;    // (N) int64, ascending
    at::Tensor offset;     // (N + 1) int64: rows [offset[i], offset[i + 1]) of embedding
    at::Tensor embedding;  // (rows, channels)
    at::Tensor pooled;     // (N, V), or undefined
};

/// Errors leave no file.
[[nodiscard]] Result<void> write_text_shard(std::filesystem::path const& path, TextRows const& rows,
                                            ShardMark const& mark);

/// Views of the mapped file; offsets and order are checked, so that they can be used directly.
[[nodiscard]] Result<TextRows> read_text_shard(std::filesystem::path const& path,
                                               TextFormat const& format, TextShard const& shard);

}  // namespace osora::worker
