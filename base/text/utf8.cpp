#include "base/text/utf8.hpp"

namespace osora {

CodePoint first_code_point(std::string_view text) {
    if (text.empty()) return {};
    auto const at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    unsigned char const lead = at(0);
    if (lead < 0x80) return {lead, 1};
    std::size_t const bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
    unsigned char const low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char const high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (at(1) < low || at(1) > high) return {};
    char32_t value = lead & (0x7F >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((at(i) & 0xC0) != 0x80) return {};
        value = value << 6 | (at(i) & 0x3F);
    }
    return {value, bytes};
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        auto const bytes = first_code_point(text).bytes;
        if (bytes == 0) return false;
        text.remove_prefix(bytes);
    }
    return true;
}

void shorten_utf8(std::string& text, std::size_t most) {
    if (text.size() <= most) return;
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
    text.resize(most);
}

}  // namespace osora
