// Decompresses the bytes of a gzip file in memory. Pure.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace osora::db::whatif {

/// Larger results are refused before unpacking; enough for about 8 million traced ops.
constexpr std::size_t kUnpackedBytesMax = std::size_t{512} * 1024 * 1024;

/// Bytes that do not start like gzip are returned unchanged; several members are joined.
/// invalid_input: cut off, damaged, or more than `limit` bytes unpacked.
[[nodiscard]] Result<std::string> gunzip(std::string_view bytes,
                                         std::size_t limit = kUnpackedBytesMax);

}  // namespace osora::db::whatif
