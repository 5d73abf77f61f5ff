#include "base/text/printable.hpp"

#include "base/text/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora {
namespace {

/// Calls shown(piece) for visible text and hidden(code point, bytes) for the rest; stray bytes
/// count as U+FFFD.
template <class Shown, class Hidden>
void each_code_point(std::string_view text, Shown const& shown, Hidden const& hidden) {
    constexpr char32_t kStray = 0xFFFD;
    while (!text.empty()) {
        auto const code = first_code_point(text);
        std::string_view const piece = text.substr(0, std::max<std::size_t>(code.bytes, 1));
        if (code.bytes == 0 || hides_text(code.value)) {
            hidden(code.bytes == 0 ? kStray : code.value, piece);
        } else {
            shown(piece);
        }
        text.remove_prefix(piece.size());
    }
}

/// Bytes of a colour sequence at the start: ESC [ digits and ; m. 0: there is none.
std::size_t colour_bytes(std::string_view text) {
    if (!text.starts_with("\x1b[")) return 0;
    auto const end = text.find_first_not_of("0123456789;", 2);
    return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

}  // namespace

bool hides_text(char32_t code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || code == 0x200E ||
           code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

std::string printable(std::string_view text, std::string_view kept) {
    std::string result;
    result.reserve(text.size());
    each_code_point(
        text, [&](std::string_view piece) { result += piece; },
        [&](char32_t, std::string_view piece) {
            bool const keep = piece.size() == 1 && kept.find(piece[0]) != std::string_view::npos;
            result += keep ? piece : "?";
        });
    return result;
}

std::string screen_text(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        if (auto const colour = colour_bytes(text); colour > 0) {
            result += text.substr(0, colour);
            text.remove_prefix(colour);
            continue;
        }
        auto const end = std::min(text.find('\x1b', 1), text.size());
        result += printable(text.substr(0, end), "\n\t\r");
        text.remove_prefix(end);
    }
    return result;
}

std::string printable_json(std::string_view json) {
    std::string result;
    result.reserve(json.size());
    each_code_point(
        json, [&](std::string_view piece) { result += piece; },
        [&](char32_t code, std::string_view piece) {
            bool const layout = piece == "\n" || piece == "\t" || piece == "\r";
            result += layout ? std::string(piece)
                             : fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
        });
    return result;
}

}  // namespace osora
