// Checks of types and ranges.
#include "plan/evaluate/row_reader.hpp"

#include "base/text/nearest.hpp"
#include "base/text/utf8.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>

namespace osora::plan {

namespace json = boost::json;

std::string shown(json::value const& value) {
    constexpr std::size_t kLength = 40;
    if (value.is_object()) return "an object";
    if (value.is_array()) return "an array";
    std::string text = json::serialize(value);
    if (text.size() > kLength) {
        text.resize(kLength);
        // Does not cut inside a character.
        while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) {
            text.pop_back();
        }
        if (!text.empty() && (static_cast<unsigned char>(text.back()) & 0x80) != 0) text.pop_back();
        text += "...";
    }
    return text;
}

json::value const* RowReader::find(std::string_view key) {
    if (std::ranges::find(asked_, key) == asked_.end()) asked_.push_back(key);
    return from_.if_contains(key);
}
bool RowReader::has(std::string_view key) {
    auto const* const found = find(key);
    return found != nullptr && !found->is_null();
}

void RowReader::refuse(std::string_view key, std::string_view why) {
    if (!error_.empty()) return;
    error_ =
        path_.empty() ? fmt::format("{}: {}", key, why) : fmt::format("{}.{}: {}", path_, key, why);
}

Result<void> RowReader::result() const {
    if (error_.empty()) return {};
    return Error{Errc::invalid_input, error_};
}

std::vector<std::string> RowReader::unread() const {
    constexpr std::size_t kShownMax = 16, kNameMax = 40;
    std::vector<std::string_view> absent;
    std::ranges::copy_if(asked_, std::back_inserter(absent),
                         [this](std::string_view key) { return !from_.contains(key); });
    std::vector<std::string> found;
    for (auto const& member : from_) {
        std::string_view const key = member.key();
        if (std::ranges::find(asked_, key) != asked_.end()) continue;
        if (found.size() == kShownMax) break;
        auto const near = nearest_name(key, absent);
        std::string name(key);
        shorten_utf8(name, kNameMax);
        found.push_back(fmt::format("{}.{}{}", path_, name,
                                    near ? fmt::format("; did you mean {}?", *near) : ""));
    }
    return found;
}

json::value const* RowReader::needed(std::string_view key) {
    if (has(key)) return find(key);
    std::string why = "is missing";
    std::vector<std::string_view> keys;
    for (auto const& member : from_) keys.emplace_back(member.key());
    if (auto const near = nearest_name(key, keys); near && *near != key) {
        why += fmt::format("; did you mean it by \"{}\"?", near->substr(0, 40));
    }
    refuse(key, why);
    return nullptr;
}

namespace {

/// The value of a JSON number that is a whole number; else nothing.
std::optional<std::int64_t> whole_number(json::value const& value) {
    if (auto const* number = value.if_int64()) return *number;
    constexpr double kExact = 9007199254740992;  // 2^53
    double const number = value.is_double()   ? value.get_double()
                          : value.is_uint64() ? static_cast<double>(value.get_uint64())
                                              : std::nan("");
    if (number != std::floor(number) || std::abs(number) > kExact) {
        if (std::abs(number) > kExact) return number > 0 ? INT64_MAX : INT64_MIN;
        return {};
    }
    return static_cast<std::int64_t>(number);
}

}  // namespace

std::int64_t RowReader::whole(std::string_view key, std::int64_t min, std::int64_t max) {
    auto const* const value = needed(key);
    if (value == nullptr) return min;
    auto const number = whole_number(*value);
    if (!number) {
        refuse(key,
               fmt::format("{} is not a whole number; valid: {} to {}", shown(*value), min, max));
        return min;
    }
    if (*number < min || *number > max) {
        bool const below = *number < min;
        refuse(key, fmt::format("{} is {} {}; nearest valid: {}", shown(*value),
                                below ? "below" : "above", below ? min : max, below ? min : max));
        return min;
    }
    return *number;
}

std::int64_t RowReader::whole_or(std::string_view key, std::int64_t min, std::int64_t max,
                                 std::int64_t otherwise) {
    return has(key) ? whole(key, min, max) : otherwise;
}

double RowReader::real(std::string_view key, double min, double max) {
    auto const* const value = needed(key);
    if (value == nullptr) return min;
    double const number = value->is_number() ? value->to_number<double>() : std::nan("");
    if (!std::isfinite(number)) {
        refuse(key,
               fmt::format("{} is not a number; valid: {:g} to {:g}", shown(*value), min, max));
        return min;
    }
    if (number < min || number > max) {
        bool const below = number < min;
        refuse(key, fmt::format("{} is {} {:g}; nearest valid: {:g}", shown(*value),
                                below ? "below" : "above", below ? min : max, below ? min : max));
        return min;
    }
    return number;
}

std::string RowReader::text(std::string_view key) {
    auto const* const value = needed(key);
    if (value == nullptr) return {};
    auto const* const string = value->if_string();
    if (string == nullptr) {
        refuse(key, fmt::format("{} is not a text", shown(*value)));
        return {};
    }
    return std::string(std::string_view(*string));
}

std::string RowReader::text_or(std::string_view key, std::string_view otherwise) {
    return has(key) ? text(key) : std::string(otherwise);
}

std::string RowReader::choice(std::string_view key, std::span<std::string_view const> choices) {
    std::string const found = text(key);
    if (!error_.empty() || std::ranges::find(choices, found) != choices.end()) return found;
    auto const near = nearest_name(found, choices);
    refuse(key, fmt::format("{} is unknown; {}", shown(json::value(json::string(found))),
                            near ? fmt::format("nearest valid: {}", *near)
                                 : fmt::format("valid: {}", fmt::join(choices, ", "))));
    return std::string(choices.front());
}

bool RowReader::flag(std::string_view key) {
    auto const* const value = needed(key);
    if (value == nullptr) return false;
    if (!value->is_bool()) refuse(key, fmt::format("{} is not true or false", shown(*value)));
    return value->is_bool() && value->get_bool();
}

bool RowReader::flag_or(std::string_view key, bool otherwise) {
    return has(key) ? flag(key) : otherwise;
}

json::object RowReader::object(std::string_view key, bool required) {
    if (!required && !has(key)) return {};
    auto const* const value = needed(key);
    if (value == nullptr) return {};
    auto const* const object = value->if_object();
    if (object == nullptr) {
        refuse(key, fmt::format("{} is not an object", shown(*value)));
        return {};
    }
    return *object;
}

}  // namespace osora::plan
