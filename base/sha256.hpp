// SHA-256 as 64 hex digits: names content (fingerprints, the work of a series).
#pragma once

#include <string>
#include <string_view>

namespace osora {

[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace osora
