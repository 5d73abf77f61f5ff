// zstd (RFC 8878) of whole texts, through libzstd.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace osora {

/// What every compressed text begins with; no UTF-8 text does.
inline constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD";

/// One frame that records the length of `text`.
[[nodiscard]] std::string compress(std::string_view text);

/// corrupt: no whole frame, bytes after it, or no recorded length of at most `bytes_max`; allocates
/// no more memory than that.
[[nodiscard]] Result<std::string> decompress(std::string_view frame, std::size_t bytes_max);

}  // namespace osora
