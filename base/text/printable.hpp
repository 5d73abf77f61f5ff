// Text from outside, made harmless for a terminal or a page. Pure.
#pragma once

#include <string>
#include <string_view>

namespace osora {

/// Code points that move the cursor, start an escape sequence, or let text of one direction hide
/// among another's: C0 and C1 controls (ECMA-48), DEL, the marks of Unicode's bidirectional
/// algorithm (UAX 9), line and paragraph separators, zero-width no-break space.
[[nodiscard]] bool hides_text(char32_t code_point);

/// `text` with '?' for each hidden code point and for each byte that is not UTF-8. Hidden
/// characters in `kept` stay: "\n\t" for text of several lines.
[[nodiscard]] std::string printable(std::string_view text, std::string_view kept = "");

/// Like printable(text, "\n\t\r"), but colours (ESC [ ... m) stay: for text whose external parts
/// went through printable() before they were styled.
[[nodiscard]] std::string screen_text(std::string_view text);

/// JSON in UTF-8 with \uXXXX for each hidden code point: the values stay the same.
[[nodiscard]] std::string printable_json(std::string_view json);

}  // namespace osora
