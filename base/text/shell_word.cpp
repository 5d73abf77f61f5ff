#include "base/text/shell_word.hpp"

#include <algorithm>

namespace osora {

bool is_plain_word(std::string_view text) {
    constexpr std::string_view kMarks = "_-+=./:,@%";
    return !text.empty() && std::ranges::all_of(text, [&](char each) {
        bool const letter = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z');
        return letter || (each >= '0' && each <= '9') ||
               kMarks.find(each) != std::string_view::npos;
    });
}

std::string shell_word(std::string_view text) {
    if (is_plain_word(text)) return std::string(text);
    std::string word = "'";
    for (char const each : text) {
        if (each == '\'') {
            word += "'\\''";
        } else {
            word += each;
        }
    }
    return word + "'";
}

}  // namespace osora
