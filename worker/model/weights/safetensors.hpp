// Tensors in safetensors files: read by mmap without a copy, written beside the target and renamed
// over it. A file's content is never trusted (safetensors_header.hpp).
#pragma once

#include "base/result.hpp"
#include "worker/model/parameters.hpp"
#include "worker/model/weights/safetensors_header.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

struct SafetensorsContent {
    std::vector<NamedTensor> tensors;  // views of the mapped file (copy on write), on the CPU
    std::map<std::string, std::string> metadata;

    /// nullptr when there is none.
    [[nodiscard]] at::Tensor const* find(std::string_view name) const;
};

/// The type of a file that holds this one; nullopt when none does.
[[nodiscard]] std::optional<DType> file_type(at::ScalarType type);
/// "F32", "BF16", ...: a file's name for this type; "?" if files cannot hold it.
[[nodiscard]] std::string_view safetensors_type(at::ScalarType type);

/// The mapping lives as long as any of the tensors.
[[nodiscard]] Result<SafetensorsContent> load_safetensors(std::filesystem::path const& path);

/// Writes `path` completely and synced, or leaves it unchanged. Tensors may be on any device.
[[nodiscard]] Result<void> save_safetensors(
    std::filesystem::path const& path, std::vector<NamedTensor> const& tensors,
    std::map<std::string, std::string> const& metadata = {});

}  // namespace osora::worker
