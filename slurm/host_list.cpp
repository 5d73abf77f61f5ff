// A list is cut at its outer commas, a name at its brackets.
#include "slurm/host_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

namespace osora::slurm {
namespace {

using Names = std::vector<std::string>;

Error bad(std::string_view list, std::string_view why) {
    return {Errc::invalid_input, fmt::format("host list '{}': {}", list.substr(0, 80), why)};
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
        return bad(list, fmt::format("'{}' is no range", range));
    }
    if (to < from) return bad(list, fmt::format("'{}' runs backwards", range));
    if (static_cast<std::size_t>(to - from) >= kHostsMax) return bad(list, "too many hosts");
    Names names;
    for (long i = from; i <= to; ++i) names.push_back(fmt::format("{:0{}}", i, first.size()));
    return names;
}

/// The texts that a bracket stands for.
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

/// Where the name that `rest` starts with ends: the first comma outside of brackets.
std::size_t end_of_name(std::string_view rest) {
    bool inside = false;
    for (std::size_t i = 0; i < rest.size(); ++i) {
        if (rest[i] == '[') inside = true;
        if (rest[i] == ']') inside = false;
        if (rest[i] == ',' && !inside) return i;
    }
    return rest.size();
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

}  // namespace osora::slurm
