// A file of one JSON document, read as a described type.
#pragma once

#include "base/files/files.hpp"
#include "protocol/json.hpp"

namespace osora::protocol {

constexpr std::int64_t kJsonFileBytesMax = std::int64_t{256} << 20;

/// Errors name the file: those of read_file(), invalid_input for anything but such a document.
template <class T>
[[nodiscard]] Result<T> read_json_file(std::filesystem::path const& path) {
    OSORA_TRY(auto const text, read_file(path, kJsonFileBytesMax));
    auto value = decode<T>(text);
    if (value.has_error()) return std::move(value).error().in(path.string());
    return value;
}

}  // namespace osora::protocol
