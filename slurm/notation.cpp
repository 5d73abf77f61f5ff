// Times are computed by hand: the C library's functions depend on the process's time zone.
#include "slurm/notation.hpp"

#include "base/text/shell_word.hpp"
#include "base/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

namespace osora::slurm {
namespace {

std::optional<std::int64_t> number(std::string_view digits) {
    if (digits.starts_with('-')) return {};
    return whole_number<std::int64_t>(digits);
}

}  // namespace

std::string output_pattern(std::string_view path) {
    std::string text;
    for (char const each : path) {
        text += each;
        if (each == '%') text += '%';
    }
    return text;
}

Result<std::string> directive_word(std::string_view text) {
    for (char const each : text) {
        if (static_cast<unsigned char>(each) < 0x20 || each == 0x7f) {
            return Error{Errc::invalid_input,
                         fmt::format("'{}': an #SBATCH line cannot contain a control character",
                                     text.substr(0, text.find(each)))};
        }
    }
    if (is_plain_word(text)) return std::string(text);
    std::string word = "\"";
    for (char const each : text) {
        if (each == '"' || each == '\\') word += '\\';
        word += each;
    }
    return word + "\"";
}

std::optional<std::int64_t> parse_time(std::string_view text) {
    if (auto const seconds = number(text)) return seconds;
    constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
    if (text.size() != kForm.size()) return {};
    for (std::size_t i = 0; i < kForm.size(); ++i) {
        bool const digit = text[i] >= '0' && text[i] <= '9';
        if (kForm[i] == 'd' ? !digit : text[i] != kForm[i]) return {};
    }
    auto const at = [&](std::size_t from, std::size_t count) {
        return static_cast<int>(number(text.substr(from, count)).value_or(0));
    };
    std::chrono::year_month_day const date{std::chrono::year(at(0, 4)),
                                           std::chrono::month(static_cast<unsigned>(at(5, 2))),
                                           std::chrono::day(static_cast<unsigned>(at(8, 2)))};
    if (!date.ok() || at(11, 2) > 23 || at(14, 2) > 59 || at(17, 2) > 60) return {};
    std::int64_t const days = std::chrono::sys_days(date).time_since_epoch().count();
    return days * 86400 + at(11, 2) * 3600 + at(14, 2) * 60 + at(17, 2);
}

std::optional<std::int64_t> parse_duration(std::string_view text) {
    std::int64_t days = 0;
    std::size_t const dash = text.find('-');
    bool const dated = dash != std::string_view::npos;
    if (dated) {
        auto const value = number(text.substr(0, dash));
        if (!value) return {};
        days = *value;
        text.remove_prefix(dash + 1);
    }
    auto const parts = split(text, ':');
    if (parts.size() > 3) return {};
    std::array<std::int64_t, 3> values{};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        auto const value = number(parts[i]);
        if (!value) return {};
        values[i] = *value;
    }
    auto const [a, b, c] = values;
    // "D-HH[:MM[:SS]]" counts from the hours; "MM", "MM:SS", "HH:MM:SS" end with the smallest unit.
    if (dated || parts.size() == 3) return days * 86400 + a * 3600 + b * 60 + c;
    return a * 60 + b;
}

std::string format_duration(std::int64_t seconds) {
    seconds = std::max<std::int64_t>(seconds, 0);
    std::string const time =
        fmt::format("{:02}:{:02}:{:02}", seconds % 86400 / 3600, seconds % 3600 / 60, seconds % 60);
    return seconds < 86400 ? time : fmt::format("{}-{}", seconds / 86400, time);
}

}  // namespace osora::slurm
