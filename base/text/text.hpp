// Pieces of text in the forms that files, logs and users write. Pure. Letters are ASCII's, in any
// locale; other bytes stay unchanged. Views point into the given text.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace osora {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

/// Removes the blanks at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

[[nodiscard]] std::string lower(std::string_view text);

/// The parts between separators, including empty ones: "a,,b" has three, "" has one.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// The words between blanks; never an empty word.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view text);

/// "1 run", "1,208 runs", "2 branches", "0 passes".
[[nodiscard]] std::string counted(std::int64_t count, std::string_view noun);

/// The whole number at the start: "12 GB" is 12. nullopt without a digit, or when the number does
/// not fit.
template <class Number>
[[nodiscard]] std::optional<Number> leading_number(std::string_view text) {
    Number value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return {};
    return value;
}

/// The number that is the whole text; nullopt when anything precedes or follows it.
template <class Number>
[[nodiscard]] std::optional<Number> whole_number(std::string_view text) {
    Number value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return value;
}

/// Calls take(line) for each line, without its "\n"; a last line without one counts.
template <class Take>
void each_line(std::string_view text, Take const& take) {
    while (!text.empty()) {
        std::string_view const line = text.substr(0, text.find('\n'));
        take(line);
        text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
    }
}

}  // namespace osora
