// Splits a list at its outer commas, a name at its brackets.
#include "base/host_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

namespace osora {
namespace {

using Names = std::vector<std::string>;

/// The list comes from a file: '?' for what is not printable ASCII.
Error bad(std::string_view list, std::string_view why) {
    std::string text = fmt::format("host list '{}': {}", list.substr(0, 80), why);
    std::ranges::replace_if(
        text, [](char each) { return each < ' ' || each > '~'; }, '?');
    return {Errc::invalid_input, std::move(text)};
}

/// A number without sign; nullopt for everything else.
bool read_number(std::string_view digits, long& into) {
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), into);
    bool const whole = end == digits.data() + digits.size();
    return error == std::errc{} && whole && digits[0] != '-' && digits.size() <= 9;
}

/// "00-03" -> 00 01 02 03; the width of the first number is kept.
Result<Names> expand_range(std::string_view list, std::string_view range) {
    std::size_t const dash = range.find('-');
    std::string_view const first = range.substr(0, dash);
    std::string_view const last = dash == std::string_view::npos ? first : range.substr(dash + 1);
    long from = 0;
    long to = 0;
    if (first.empty() || last.empty() || !read_number(first, from) || !read_number(last, to)) {
        return bad(list, fmt::format("'{}' is not a range", range));
    }
    if (to < from) return bad(list, fmt::format("'{}' runs backwards", range));
    if (static_cast<std::size_t>(to - from) >= kHostsMax) return bad(list, "too many hosts");
    Names names;
    for (long i = from; i <= to; ++i) names.push_back(fmt::format("{:0{}}", i, first.size()));
    return names;
}

/// The texts that a bracket expands to.
Result<Names> expand_bracket(std::string_view list, std::string_view inside) {
    Names texts;
    while (true) {
        std::size_t const comma = inside.find(',');
        OSORA_TRY(auto const more, expand_range(list, inside.substr(0, comma)));
        texts.insert(texts.end(), more.begin(), more.end());
        if (texts.size() > kHostsMax) return bad(list, "too many hosts");
        if (comma == std::string_view::npos) return texts;
        inside.remove_prefix(comma + 1);
    }
}

Result<Names> expand_name(std::string_view list, std::string_view name) {
    Names names{""};
    while (!name.empty()) {
        std::size_t const open = name.find('[');
        std::string_view const plain = name.substr(0, open);
        if (plain.find(']') != std::string_view::npos) return bad(list, "']' without '['");
        for (std::string& each : names) each += plain;
        if (open == std::string_view::npos) break;
        std::size_t const close = name.find(']', open);
        if (close == std::string_view::npos) return bad(list, "'[' without ']'");
        OSORA_TRY(auto const texts, expand_bracket(list, name.substr(open + 1, close - open - 1)));
        if (names.size() * texts.size() > kHostsMax) return bad(list, "too many hosts");
        Names longer;
        for (std::string const& each : names) {
            for (std::string const& text : texts) longer.push_back(each + text);
        }
        names = std::move(longer);
        name.remove_prefix(close + 1);
    }
    return names;
}

/// The end of the name that `rest` starts with: the first comma outside of brackets.
std::size_t end_of_name(std::string_view rest) {
    bool inside = false;
    for (std::size_t i = 0; i < rest.size(); ++i) {
        if (rest[i] == '[') inside = true;
        if (rest[i] == ']') inside = false;
        if (rest[i] == ',' && !inside) return i;
    }
    return rest.size();
}

/// A name, split around its last number; `digits` is empty when it has none that a range can hold.
struct NumberedName {
    std::string before, digits, after;
    long number = 0;
};

/// "10.0.71.103": a range over its last part would no longer be an address that a search finds.
bool is_address(std::string_view name) {
    return std::ranges::count(name, '.') == 3 &&
           name.find_first_not_of("0123456789.") == std::string_view::npos;
}

NumberedName numbered(std::string const& name) {
    constexpr std::string_view kDigits = "0123456789";
    if (is_address(name)) return {name, "", ""};
    auto const last = name.find_last_of(kDigits);
    if (last == std::string::npos) return {name, "", ""};
    auto const before = name.find_last_not_of(kDigits, last);
    std::size_t const first = before == std::string::npos ? 0 : before + 1;
    NumberedName parts{name.substr(0, first), name.substr(first, last + 1 - first),
                       name.substr(last + 1)};
    if (!read_number(parts.digits, parts.number)) return {name, "", ""};
    return parts;
}

/// "1-3,07" from sorted numbers, each with its digits.
std::string ranges_of(std::vector<std::pair<long, std::string>> const& numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        auto const& [first, digits] = numbers[i];
        std::size_t end = i + 1;
        while (end < numbers.size()) {
            long const next = first + static_cast<long>(end - i);
            if (numbers[end].second != fmt::format("{:0{}}", next, digits.size())) break;
            ++end;
        }
        if (!text.empty()) text += ',';
        text += digits;
        if (end > i + 1) text += '-' + numbers[end - 1].second;
        i = end;
    }
    return text;
}

}  // namespace

Result<Names> expand_host_list(std::string_view list) {
    Names hosts;
    std::string_view rest = list;
    while (!rest.empty()) {
        std::size_t const end = end_of_name(rest);
        if (end == 0) return bad(list, "an empty name");
        OSORA_TRY(auto const names, expand_name(list, rest.substr(0, end)));
        hosts.insert(hosts.end(), names.begin(), names.end());
        if (hosts.size() > kHostsMax) return bad(list, "too many hosts");
        rest.remove_prefix(std::min(rest.size(), end + 1));
    }
    return hosts;
}

std::string join_hosts(Names const& hosts) {
    return fmt::format("{}", fmt::join(hosts, ","));
}

std::string fold_hosts(Names const& hosts) {
    // Grouped by the text around the number; a name without number is a separate group.
    std::map<std::pair<std::string, std::string>, std::vector<std::pair<long, std::string>>> groups;
    for (std::string const& host : hosts) {
        auto const parts = numbered(host);
        groups[{parts.before, parts.after}].emplace_back(parts.number, parts.digits);
    }
    Names texts;
    for (auto& [around, numbers] : groups) {
        std::ranges::sort(numbers, {}, [](auto const& each) {
            return std::tuple(each.first, each.second.size(), each.second);
        });
        numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
        if (numbers.front().second.empty()) {
            texts.push_back(around.first + around.second);
            numbers.erase(numbers.begin());
        }
        if (numbers.empty()) continue;
        std::string const ranges = ranges_of(numbers);
        bool const one = ranges.find_first_of(",-") == std::string::npos;
        texts.push_back(around.first + (one ? ranges : "[" + ranges + "]") + around.second);
    }
    return join_hosts(texts);
}

}  // namespace osora
