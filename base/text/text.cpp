#include "base/text/text.hpp"

#include "base/text/units.hpp"

#include <fmt/format.h>

namespace osora {

std::string_view trimmed(std::string_view text) {
    auto const first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& each : result) {
        if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
    }
    return result;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (true) {
        std::size_t const end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (!(text = trimmed(text)).empty()) {
        words.push_back(text.substr(0, text.find_first_of(kBlanks)));
        text.remove_prefix(words.back().size());
    }
    return words;
}

std::string counted(std::int64_t count, std::string_view noun) {
    bool const es = noun.ends_with('s') || noun.ends_with('x') || noun.ends_with("ch");
    char const* const plural = es ? "es" : "s";
    return fmt::format("{} {}{}", format_count(count), noun, count == 1 ? "" : plural);
}

}  // namespace osora
