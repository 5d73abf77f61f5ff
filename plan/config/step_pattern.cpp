// Uses Boost.Regex: it has named groups, and throws instead of running forever. Its exceptions are
// caught here.
#include "plan/config/step_pattern.hpp"

#include "base/text/nearest.hpp"
#include "base/text/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/regex.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <vector>

namespace osora::plan {
namespace {

constexpr std::array<std::string_view, 10> kGroups{
    "step", "time_s",  "time_ms",     "loss",           "grad_norm",
    "lr",   "samples", "data_wait_s", "exposed_comm_s", "arrival_s"};

/// Names between "(?<" and ">" that are not look-behinds.
std::vector<std::string> group_names(std::string_view expression) {
    std::vector<std::string> names;
    for (auto at = expression.find("(?<"); at != std::string_view::npos;
         at = expression.find("(?<", at + 1)) {
        auto const begin = at + 3;
        auto const end = expression.find('>', begin);
        bool const behind =
            begin < expression.size() && (expression[begin] == '=' || expression[begin] == '!');
        if (!behind && end != std::string_view::npos) {
            names.emplace_back(expression.substr(begin, end - begin));
        }
    }
    return names;
}

std::optional<std::string> wrong_name(std::vector<std::string> const& names) {
    for (std::string const& name : names) {
        if (std::ranges::count(kGroups, name) > 0) continue;
        auto const near = nearest_name(name, kGroups);
        return fmt::format("no figure is called {}; {}", name,
                           near ? fmt::format("did you mean {}?", *near)
                                : fmt::format("there are {}", fmt::join(kGroups, ", ")));
    }
    if (std::ranges::count(names, "step") == 0) return R"(needs a group (?<step>\d+))";
    return std::nullopt;
}

/// "1,234,567.8": digits in groups of three.
bool has_thousands(std::string_view text) {
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    auto const groups = split(text.substr(0, text.find('.')), ',');
    std::string_view const first = groups.front();
    auto const is_number = [](std::string_view group) {
        return group.find_first_not_of("0123456789") == std::string_view::npos;
    };
    return !first.empty() && first.size() <= 3 && first.front() != '0' && is_number(first) &&
           std::all_of(groups.begin() + 1, groups.end(), [&](std::string_view group) {
               return group.size() == 3 && is_number(group);
           });
}

}  // namespace

struct StepPattern::Compiled {
    boost::regex expression;
    std::vector<std::string> names;
};

StepPattern::StepPattern(std::shared_ptr<Compiled const> compiled)
    : compiled_(std::move(compiled)) {}

std::optional<double> parse_figure(std::string_view text) {
    while (text.ends_with(',')) text.remove_suffix(1);
    std::string digits(text);
    auto const commas = std::ranges::count(text, ',');
    if (has_thousands(text)) {
        std::erase(digits, ',');
    } else if (commas == 1 && text.find('.') == std::string_view::npos) {
        digits[digits.find(',')] = '.';  // a locale's decimals: "0,2354"
    } else if (commas > 0) {
        return std::nullopt;
    }
    double number = 0;
    auto const* const end = digits.data() + digits.size();
    auto const [rest, error] = std::from_chars(digits.data(), end, number);
    if (error != std::errc{} || rest != end) return std::nullopt;
    return number;
}

Result<StepPattern> StepPattern::make(std::string_view expression) {
    auto compiled = std::make_shared<Compiled>();
    compiled->names = group_names(expression);
    if (auto const problem = wrong_name(compiled->names)) {
        return Error{Errc::invalid_input, *problem};
    }
    try {
        compiled->expression.assign(expression.data(), expression.data() + expression.size(),
                                    boost::regex::perl);
    } catch (std::exception const& error) {
        return Error{Errc::invalid_input, fmt::format("no regular expression: {}", error.what())};
    }
    return StepPattern(std::move(compiled));
}

std::optional<StepFigures> StepPattern::match(std::string_view line) const {
    line = line.substr(0, kLineMax);
    boost::cmatch found;
    try {
        if (!boost::regex_search(line.data(), line.data() + line.size(), found,
                                 compiled_->expression)) {
            return std::nullopt;
        }
    } catch (std::exception const&) {
        return std::nullopt;  // too complex for this line
    }
    StepFigures figures;
    for (std::string const& name : compiled_->names) {
        auto const& group = found[name];
        if (!group.matched) continue;
        auto const value = parse_figure(std::string_view(group.first, group.length()));
        if (!value) return std::nullopt;
        if (name == "time_ms") {
            figures["time_s"] = *value / 1000;
        } else {
            figures[name] = *value;
        }
    }
    if (!figures.contains("step")) return std::nullopt;
    return figures;
}

}  // namespace osora::plan
