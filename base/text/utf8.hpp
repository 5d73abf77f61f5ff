// UTF-8 one code point at a time (RFC 3629): no overlong forms, no surrogates, at most U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace osora {

struct CodePoint {
    char32_t value = 0;
    std::size_t bytes = 0;  // 0: the text does not start with one
};
[[nodiscard]] CodePoint first_code_point(std::string_view text);

[[nodiscard]] bool is_utf8(std::string_view text);

/// Keeps at most the first `most` bytes of `text`, in whole code points.
void shorten_utf8(std::string& text, std::size_t most);

}  // namespace osora
