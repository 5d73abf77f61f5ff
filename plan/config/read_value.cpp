// Values are never converted silently: "2" for 2 is an error that says what to write.
#include "plan/config/read_value.hpp"

#include "base/check.hpp"
#include "base/text/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

namespace osora::plan {
namespace {

using Complaint = std::optional<std::string>;

template <class N>
std::optional<N> parsed(std::string_view text) {
    N number{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

constexpr double kUnsaidMax = 1e9;  // larger bounds are only a guard against overflow

std::string number_text(double value) {
    return fmt::format("{}", value);
}

std::string range_text(SchemaRow const& row) {
    bool const low = std::isfinite(row.min);
    bool const high = row.max < kUnsaidMax;
    std::string const over = row.above_min ? "above " : "at least ";
    if (low && high && !row.above_min) {
        return fmt::format("between {} and {}", number_text(row.min), number_text(row.max));
    }
    if (low && high) {
        return fmt::format("above {} and at most {}", number_text(row.min), number_text(row.max));
    }
    return low ? over + number_text(row.min) : "at most " + number_text(row.max);
}

/// The nearest value is omitted below an excluded bound: there is no smallest number above it.
Complaint outside(double value, SchemaRow const& row) {
    bool const low = row.above_min ? value <= row.min : value < row.min;
    if (!low && value <= row.max) return std::nullopt;
    if (low && row.above_min) return "must be " + range_text(row);
    double const bound = low ? row.min : row.max;
    std::string const range =
        !low && bound >= kUnsaidMax ? "at most " + number_text(bound) : range_text(row);
    return fmt::format("must be {}; nearest valid: {}", range, number_text(bound));
}

std::string expected(std::string_view what, toml::node const& node) {
    return fmt::format("expected {}, found {}", what, kind_of(node));
}

Complaint read(toml::node const& node, SchemaRow const&, bool& into) {
    if (auto const value = node.value_exact<bool>()) {
        into = *value;
        return std::nullopt;
    }
    std::string hint;
    if (auto const text = node.value_exact<std::string>()) {
        if (*text == "true" || *text == "false") hint = "; write " + *text;
    }
    return expected("true or false", node) + hint;
}

template <std::integral N>
Complaint read(toml::node const& node, SchemaRow const& row, N& into) {
    if (auto const value = node.value_exact<std::int64_t>()) {
        if (auto complaint = outside(static_cast<double>(*value), row)) return complaint;
        if (!std::in_range<N>(*value)) return "too large";
        into = static_cast<N>(*value);
        return std::nullopt;
    }
    std::string hint;
    if (auto const real = node.value_exact<double>(); real && std::abs(*real) < 1e15) {
        if (std::trunc(*real) == *real) hint = fmt::format("; write {:.0f}", *real);
    }
    if (auto const text = node.value_exact<std::string>(); text && parsed<std::int64_t>(*text)) {
        hint = "; write " + *text;
    }
    return expected("an integer", node) + hint;
}

Complaint read(toml::node const& node, SchemaRow const& row, double& into) {
    std::optional<double> value = node.value_exact<double>();
    if (auto const whole = node.value_exact<std::int64_t>()) value = static_cast<double>(*whole);
    if (value) {
        if (!std::isfinite(*value)) return "must be a finite number";
        if (auto complaint = outside(*value, row)) return complaint;
        into = *value;
        return std::nullopt;
    }
    std::string hint;
    if (auto const text = node.value_exact<std::string>(); text && parsed<double>(*text)) {
        hint = "; write " + *text;
    }
    return expected("a number", node) + hint;
}

Complaint bad_choice(std::string const& text, SchemaRow const& row) {
    if (row.choices.empty()) return std::nullopt;
    std::vector<std::string> names;
    boost::split(names, row.choices, boost::is_any_of("|"));
    if (std::ranges::count(names, text) != 0) return std::nullopt;
    if (auto const number = row.or_integer ? parsed<std::int64_t>(text) : std::nullopt) {
        return outside(static_cast<double>(*number), row);
    }
    std::vector<std::string_view> const views(names.begin(), names.end());
    std::string complaint = fmt::format("must be one of {}", fmt::join(names, ", "));
    if (row.or_integer) complaint += ", or an integer " + range_text(row);
    if (auto const near = nearest_name(text, views)) {
        complaint += fmt::format("; did you mean {}?", *near);
    }
    return complaint;
}

Complaint bad_name(std::string const& text) {
    constexpr std::size_t kNameMax = 64;
    auto const fits = [](unsigned char each) {
        return std::isalnum(each) != 0 || each == '.' || each == '_' || each == '-';
    };
    bool const valid = !text.empty() && text.size() <= kNameMax &&
                       std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
                       std::ranges::all_of(text, fits);
    if (valid) return std::nullopt;
    std::string near;
    for (char const each : text) near += fits(static_cast<unsigned char>(each)) ? each : '-';
    if (near.empty() || std::isalpha(static_cast<unsigned char>(near[0])) == 0)
        near = "run-" + near;
    return fmt::format(
        "must be a letter, then letters, digits, . _ or -, at most {} in all; nearest valid: {}",
        kNameMax, near.substr(0, kNameMax));
}

/// "HH:MM:SS" with any number of hours, or "D-HH:MM:SS".
bool is_duration(std::string_view text) {
    auto const dash = text.find('-');
    if (dash != std::string_view::npos) {
        if (!parsed<unsigned>(text.substr(0, dash))) return false;
        text.remove_prefix(dash + 1);
    }
    std::vector<std::string> parts;
    boost::split(parts, text, boost::is_any_of(":"));
    if (parts.size() != 3) return false;
    auto const hours = parsed<unsigned>(parts[0]);
    auto const minutes = parsed<unsigned>(parts[1]);
    auto const seconds = parsed<unsigned>(parts[2]);
    return hours && minutes && *minutes < 60 && seconds && *seconds < 60;
}

Complaint read(toml::node const& node, SchemaRow const& row, std::string& into) {
    auto text = node.value_exact<std::string>();
    auto const number = node.value_exact<std::int64_t>();
    if (!text && number && row.or_integer) text = std::to_string(*number);
    if (!text) {
        if (auto const choice = bad_choice(shown(node), row)) return choice;
        bool const scalar = number || node.is_floating_point() || node.is_boolean();
        return expected("a string", node) + (scalar ? "; write \"" + shown(node) + '"' : "");
    }
    if (!is_c_string(*text)) return "contains a zero byte";
    if (auto complaint = bad_choice(*text, row)) return complaint;
    if (row.shape == Shape::name) {
        if (auto complaint = bad_name(*text)) return complaint;
    }
    if (row.shape == Shape::duration && !text->empty() && !is_duration(*text)) {
        return "must be HH:MM:SS or D-HH:MM:SS";
    }
    into = *std::move(text);
    return std::nullopt;
}

Complaint read(toml::node const& node, SchemaRow const& row, std::vector<std::string>& into) {
    auto const* array = node.as_array();
    if (array == nullptr) {
        std::string const hint = node.is_string() ? "; write [" + shown(node) + "]" : "";
        return expected("a list of strings", node) + hint;
    }
    std::vector<std::string> values;
    for (std::size_t i = 0; i < array->size(); ++i) {
        std::string value;
        if (auto complaint = read((*array)[i], row, value)) {
            return fmt::format("element {}: {}", i, *complaint);
        }
        values.push_back(std::move(value));
    }
    into = std::move(values);
    return std::nullopt;
}

Complaint read(toml::node const& node, SchemaRow const& row, ArgumentLists& into) {
    auto const* array = node.as_array();
    if (array == nullptr) return expected("a list of commands, each a list of strings", node);
    ArgumentLists values;
    for (std::size_t i = 0; i < array->size(); ++i) {
        std::vector<std::string> value;
        if (auto complaint = read((*array)[i], row, value)) {
            return fmt::format("element {}: {}", i, *complaint);
        }
        if (value.empty()) return fmt::format("element {}: an empty command", i);
        values.push_back(std::move(value));
    }
    into = std::move(values);
    return std::nullopt;
}

Complaint read(toml::node const& node, SchemaRow const& row, NumberMap& into) {
    auto const* table = node.as_table();
    if (table == nullptr) return expected("a table of numbers", node);
    NumberMap values;
    for (auto const& [key, each] : *table) {
        double value = 0;
        if (auto complaint = read(each, row, value)) {
            return fmt::format("{}: {}", key.str(), *complaint);
        }
        values.emplace(key.str(), value);
    }
    into = std::move(values);
    return std::nullopt;
}

template <class T>
Complaint read(toml::node const& node, SchemaRow const& row, AutoOr<T>& into) {
    if (node.value_exact<std::string>() == row.auto_word) {
        into.value.reset();
        return std::nullopt;
    }
    T value{};
    if (auto complaint = read(node, row, value)) {
        std::string const also = fmt::format(", or \"{}\"", row.auto_word);
        auto const at = std::min(complaint->find(", found"), complaint->find("; "));
        return complaint->insert(std::min(at, complaint->size()), also);
    }
    into.value = std::move(value);
    return std::nullopt;
}

}  // namespace

Complaint read_value(toml::node const& node, SchemaRow const& row, FieldRef const& into) {
    return std::visit(
        [&](auto* target) -> Complaint {
            if constexpr (std::is_same_v<decltype(target), StringMap*>) {
                OSORA_CHECK(target == nullptr, "string maps are read entry by entry");
                return std::nullopt;
            } else {
                return read(node, row, *target);
            }
        },
        into);
}

std::string_view kind_of(toml::node const& node) {
    switch (node.type()) {
        case toml::node_type::table:
            return "a table";
        case toml::node_type::array:
            return "a list";
        case toml::node_type::string:
            return "a string";
        case toml::node_type::integer:
            return "an integer";
        case toml::node_type::floating_point:
            return "a float";
        case toml::node_type::boolean:
            return "a boolean";
        case toml::node_type::date:
            return "a date";
        case toml::node_type::time:
            return "a time";
        case toml::node_type::date_time:
            return "a date and time";
        case toml::node_type::none:
            break;
    }
    return "nothing";
}

std::string shown(toml::node const& node) {
    constexpr std::size_t kShownMax = 40;
    std::string text;
    if (auto const value = node.value_exact<std::string>()) {
        text = toml_string(*value);
    } else {
        std::ostringstream out;
        node.visit([&](auto const& each) {
            if constexpr (requires { out << each; }) out << each;
        });
        text = out.str();
        std::ranges::replace(text, '\n', ' ');
    }
    if (text.size() <= kShownMax) return text;
    std::size_t cut = kShownMax - 3;
    while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;  // UTF-8
    return text.substr(0, cut) + "...";
}

bool is_c_string(std::string_view text) {
    return text.find('\0') == std::string_view::npos;
}

}  // namespace osora::plan
