// Colours are ECMA-48 sequences; some log collectors print their first byte as text.
#include "plan/steps/plain_line.hpp"

#include <algorithm>

namespace osora::plan {
namespace {

/// Length of the escape sequence at the start of `text`; 0: there is none.
std::size_t escape_length(std::string_view text) {
    constexpr std::size_t kLongest = 64;
    std::size_t at = 0;
    for (std::string_view const start : {"\x1b[", "^[[", "#033[", "\\x1b[", "\\u001b["}) {
        if (text.starts_with(start)) at = start.size();
    }
    if (at == 0) return text.front() == '\x1b' ? std::min<std::size_t>(2, text.size()) : 0;
    auto const end = std::min(text.size(), at + kLongest);
    while (at < end && (text[at] < '@' || text[at] > '~')) ++at;
    return std::min(at + 1, text.size());
}

bool may_start_escape(char each) {
    return each == '\x1b' || each == '^' || each == '#' || each == '\\';
}

}  // namespace

PlainLine::PlainLine(std::string_view line) {
    line = line.substr(0, kReadMax);
    for (std::size_t i = 0; i < line.size() && size_ < kMax; ++i) {
        char const each = line[i];
        if (may_start_escape(each)) {
            std::size_t const length = escape_length(line.substr(i));
            if (length > 0) {
                add(' ');
                i += length - 1;
                continue;
            }
        }
        add(each);
    }
}

void PlainLine::add(char each) {
    bool const blank = each <= ' ' || each == '\x7f';  // bytes beyond ASCII are negative
    if (static_cast<unsigned char>(each) >= 0x80 || blank) each = ' ';
    if (each == ' ' && (size_ == 0 || text_[size_ - 1] == ' ')) return;
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each + ('a' - 'A'));
    text_[size_++] = each;
}

}  // namespace osora::plan
