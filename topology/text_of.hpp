// Private to topology/: small files of /proc and /sys.
#pragma once

#include "base/files/files.hpp"

#include <filesystem>
#include <string>
#include <utility>

namespace osora::topology {

/// "" if it cannot be read, or is larger than such files are.
[[nodiscard]] inline std::string text_of(std::filesystem::path const& path) {
    constexpr std::int64_t kBytesMax = 1 << 20;
    auto text = read_file(path, kBytesMax);
    return text ? std::move(*text) : std::string();
}

}  // namespace osora::topology
