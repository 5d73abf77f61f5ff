// zstd (RFC 8878) of whole texts, through libzstd.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace osora {

/// What every compressed text begins with; no UTF-8 text does.
inline constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD";

/// One frame that says how long `text` is.
[[nodiscard]] std::string compress(std::string_view text);

/// corrupt: no whole frame, bytes behind it, or a text that does not say that it has at most
/// `bytes_max`; no more memory than that is taken.
[[nodiscard]] Result<std::string> decompress(std::string_view frame, std::size_t bytes_max);

}  // namespace osora
