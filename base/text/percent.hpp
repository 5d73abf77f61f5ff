// Percent-encoding of URLs (RFC 3986, section 2.1). Pure.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace osora {

/// invalid_input: a '%' that no two hexadecimal digits follow.
[[nodiscard]] Result<std::string> percent_decoded(std::string_view text);

/// Letters, digits, '-', '_', '.' and '~' stay.
[[nodiscard]] std::string percent_encoded(std::string_view text);

}  // namespace osora
