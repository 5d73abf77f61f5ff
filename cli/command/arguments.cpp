// CLI11 splits the words; errors name the nearest known word.
#include "cli/command/arguments.hpp"

#include "base/text/nearest.hpp"
#include "cli/command/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>
#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>

#include <algorithm>
#include <charconv>

namespace osora::cli {
namespace {

constexpr std::string_view kHelp = "--help";

Error usage(CommandSpec const& command, std::string const& message) {
    return {Errc::invalid_input, fmt::format("{} (osora {} --help)", message, command.name)};
}

Error unknown_option(CommandSpec const& command, std::string const& word) {
    std::string const name = word.substr(0, word.find('='));
    std::vector<std::string_view> names{kHelp};
    for (OptionSpec const& option : command.options) {
        if (!option.hidden) names.push_back(option.name);
    }
    auto const near = nearest_name(name, names);
    return usage(command, near ? fmt::format("unknown option {}; did you mean {}?", name, *near)
                               : fmt::format("unknown option {}; options are {}", name,
                                             fmt::join(names, ", ")));
}

/// Words that are not options become the positionals, in order.
Result<void> place(CommandSpec const& command, std::vector<std::string> const& rest,
                   Arguments& arguments) {
    for (std::string const& word : rest) {  // an unknown option may own the word after it
        if (word.starts_with('-') && word != "-") return unknown_option(command, word);
    }
    for (std::size_t i = 0; i < rest.size(); ++i) {
        bool const is_more = i >= command.positionals.size();
        if (is_more && (command.positionals.empty() || !command.positionals.back().repeated)) {
            return usage(command, fmt::format("{}: one word too many", rest[i]));
        }
        auto const& positional = is_more ? command.positionals.back() : command.positionals[i];
        arguments.values[std::string(positional.name)].push_back(rest[i]);
    }
    return {};
}

Result<void> check_choice(CommandSpec const& command, std::string_view name,
                          std::string_view choices, std::vector<std::string> const& given) {
    if (choices.empty()) return {};
    std::vector<std::string> names;
    boost::split(names, choices, boost::is_any_of("|"));
    for (std::string const& each : given) {
        if (std::ranges::count(names, each) != 0) continue;
        std::vector<std::string_view> const views(names.begin(), names.end());
        auto const near = nearest_name(each, views);
        return usage(command,
                     fmt::format("{} {}: must be one of {}{}", name, each, fmt::join(names, ", "),
                                 near ? fmt::format("; did you mean {}?", *near) : ""));
    }
    return {};
}

Result<void> check(CommandSpec const& command, Arguments const& arguments) {
    for (PositionalSpec const& each : command.positionals) {
        auto const given = arguments.all(each.name);
        if (each.required && given.empty()) {
            return usage(command, fmt::format("{}: {} is missing", command.name, each.name));
        }
        OSORA_TRY_VOID(check_choice(command, each.name, each.choices, given));
    }
    for (OptionSpec const& each : command.options) {
        auto const given = arguments.all(each.name);
        if (!each.repeated && given.size() > 1 && !each.value.empty()) {
            return usage(command, fmt::format("{} is given {} times", each.name, given.size()));
        }
        OSORA_TRY_VOID(check_choice(command, each.name, each.choices, given));
    }
    return {};
}

}  // namespace

bool Arguments::has(std::string_view name) const {
    auto const found = values.find(name);
    return found != values.end() && !found->second.empty();
}

std::optional<std::string> Arguments::value(std::string_view name) const {
    auto const found = values.find(name);
    if (found == values.end() || found->second.empty()) return std::nullopt;
    return found->second.back();
}

std::vector<std::string> Arguments::all(std::string_view name) const {
    auto const found = values.find(name);
    return found == values.end() ? std::vector<std::string>() : found->second;
}

Result<std::optional<int>> Arguments::number(std::string_view name, int min, int max) const {
    auto const text = value(name);
    if (!text) return std::optional<int>();
    int number = 0;
    auto const [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (error != std::errc{} || end != text->data() + text->size() || number < min ||
        number > max) {
        return Error{Errc::invalid_input, fmt::format("{} {}: must be an integer between {} and {}",
                                                      name, *text, min, max)};
    }
    return std::optional<int>(number);
}

Result<std::optional<double>> Arguments::real(std::string_view name, double min, double max) const {
    auto const text = value(name);
    if (!text) return std::optional<double>();
    double number = 0;
    auto const [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    bool const is_number = error == std::errc{} && end == text->data() + text->size();
    if (!is_number || !(number >= min && number <= max)) {  // NaN is in no range
        return Error{Errc::invalid_input, fmt::format("{} {}: must be a number between {} and {}",
                                                      name, *text, min, max)};
    }
    return std::optional<double>(number);
}

Result<Arguments> parse_arguments(CommandSpec const& command, std::span<std::string const> words) {
    for (OptionSpec const& each : command.options) {  // CLI11 would accept --flag=yes
        std::string const with_value = std::string(each.name) + "=";
        for (std::string const& word : words) {
            if (!each.value.empty() || !word.starts_with(with_value)) continue;
            return usage(command, fmt::format("{}: takes no value", each.name));
        }
    }
    Arguments arguments;
    CLI::App app;
    app.set_help_flag();
    app.allow_extras();
    for (OptionSpec const& each : command.options) {
        auto& target = arguments.values[std::string(each.name)];
        if (each.value.empty()) {
            app.add_flag_callback(std::string(each.name), [&target] { target = {"true"}; });
        } else {
            std::string names(each.name);
            if (!each.shorthand.empty()) names += "," + std::string(each.shorthand);
            app.add_option(names, target)->take_all()->allow_extra_args(false);
        }
    }
    app.add_flag_callback(std::string(kHelp), [&] { arguments.values["--help"] = {"true"}; });
    try {
        // CLI11 takes them in reverse order.
        app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (CLI::ParseError const& error) {  // the parse boundary
        return usage(command, error.what());
    }
    if (arguments.has(kHelp)) return arguments;
    OSORA_TRY_VOID(place(command, app.remaining(), arguments));
    OSORA_TRY_VOID(check(command, arguments));
    return arguments;
}

}  // namespace osora::cli
