#include "base/text/percent.hpp"

#include <fmt/format.h>

namespace osora {
namespace {

/// -1: no hexadecimal digit.
int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    char const small = static_cast<char>(c | 0x20);
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

bool is_unreserved(char c) {
    bool const letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
}

}  // namespace

Result<std::string> percent_decoded(std::string_view text) {
    std::string decoded;
    for (; !text.empty(); text.remove_prefix(1)) {
        if (text.front() != '%') {
            decoded += text.front();
            continue;
        }
        bool const whole = text.size() >= 3;
        int const high = whole ? hex_value(text[1]) : -1, low = whole ? hex_value(text[2]) : -1;
        if (high < 0 || low < 0) return invalid("'%' without two hexadecimal digits");
        decoded += static_cast<char>(high * 16 + low);
        text.remove_prefix(2);
    }
    return decoded;
}

std::string percent_encoded(std::string_view text) {
    std::string encoded;
    for (char const c : text) {
        if (is_unreserved(c)) {
            encoded += c;
        } else {
            encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        }
    }
    return encoded;
}

}  // namespace osora
