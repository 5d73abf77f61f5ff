// Cached clips of one bucket in one safetensors file, with their list in a CSV beside it. The
// safetensors file appears last, so if it exists both are complete. Written by the encode job, read
// by training.
#pragma once

#include "protocol/cache_index.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::worker {

using protocol::CacheIndex;
using protocol::LatentFormat;
using protocol::LatentShard;
using protocol::TextFormat;
using protocol::TextShard;

/// Row i of every tensor is one clip.
struct LatentRows {
    at::Tensor mean;         // (N, C, T, H, W)
    at::Tensor std;          // as mean, or undefined
    at::Tensor caption;      // (N) int64: caption_hash of the text
    at::Tensor row;          // (N) int64: line of the manifest
    at::Tensor start_frame;  // (N) int64: of the window, in the clip
    at::Tensor fps;          // (N) float64; 0: unknown
};

/// Metadata of a shard.
struct ShardMark {
    std::string settings;  // as in the index
    std::int64_t number = 0;
};

/// Errors leave no file; out_of_space for a full disk.
[[nodiscard]] Result<void> write_latent_shard(std::filesystem::path const& path,
                                              LatentRows const& rows, std::string const& csv,
                                              ShardMark const& mark);

/// Views of the mapped file. corrupt names the tensor that is missing or has another shape or type
/// than in `shard`.
[[nodiscard]] Result<LatentRows> read_latent_shard(std::filesystem::path const& path,
                                                   LatentFormat const& format,
                                                   LatentShard const& shard);

/// The number of clips (latents) or captions (text) in a complete shard. not_found: none there;
/// invalid_input: it belongs to other settings.
[[nodiscard]] Result<std::int64_t> finished_shard(std::filesystem::path const& path,
                                                  ShardMark const& mark);

/// The CSV beside a shard.
[[nodiscard]] std::filesystem::path shard_list_path(std::filesystem::path shard);

/// Shape (C, T, H, W) of a cached clip.
[[nodiscard]] std::vector<std::int64_t> latent_shape(LatentFormat const& format,
                                                     LatentShard const& shard);

/// LibTorch's type for "BF16" or "F32".
[[nodiscard]] at::ScalarType cache_type(std::string_view dtype);

}  // namespace osora::worker
