// One `complete` for each word and option, under the condition that its command was typed.
#include "cli/completion/completion.hpp"
#include "cli/completion/completion_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/algorithm/string/replace.hpp>

namespace osora::cli {
namespace {

constexpr std::string_view kFishHead =
    R"fish(# fish completion for osora; made by `osora completion fish`.
function __osora_is -a wanted
    set -l words (commandline -opc)
    set -e words[1]
    set -l command $words[1]
    if string match -q -- '-*' "$command"
        set command
    else if contains -- "$words[1] $words[2]" @PAIRS@
        set command "$words[1] $words[2]"
    end
    test "$command" = "$wanted"
end
function __osora_runs
    set -l words (commandline -opc)
    command $words[1] completion runs 2>/dev/null
end
function __osora_keys
    printf '%s\n' @KEYS@
end
complete -c osora -f
complete -c osora -l help -d help
complete -c osora -n '__osora_is ""' -l version -d version
)fish";

std::string fish_word(std::string_view text) {
    auto escaped = boost::replace_all_copy(std::string(text), "\\", "\\\\");
    boost::replace_all(escaped, "'", "\\'");
    return "'" + escaped + "'";
}

/// Arguments of `complete` for a value or a positional argument.
std::string offer(Complete complete, std::string_view choices) {
    if (!choices.empty()) return " -a " + fish_word(words_of_choices(choices));
    switch (complete) {
        case Complete::file:
            return " -F";
        case Complete::run_file:
            return " -k -a '(__fish_complete_suffix .toml)'";
        case Complete::folder:
            return " -a '(__fish_complete_directories)'";
        case Complete::run:
            return " -k -a '(__osora_runs)'";
        case Complete::config_key:
            return " -a '(__osora_keys)'";
        case Complete::none:
            break;
    }
    return "";
}

std::string after(std::string_view command) {
    return fmt::format("complete -c osora -n '__osora_is \"{}\"'", command);
}

std::string option_line(std::string_view command, OptionSpec const& option) {
    auto line = after(command) + fmt::format(" -l {}", option.name.substr(2));
    if (!option.shorthand.empty()) line += fmt::format(" -s {}", option.shorthand.substr(1));
    if (!option.value.empty()) {
        auto const value = offer(option.complete, option.choices);
        line += (value == " -F" ? " -r" : " -x") + value;
    }
    return line + fmt::format(" -d {}\n", fish_word(first_sentence(option.help)));
}

}  // namespace

std::string fish_completion(std::span<CommandSpec const> table) {
    auto const words = completion_words(table);
    std::string script(kFishHead);
    boost::replace_all(script, "@PAIRS@", fmt::format("'{}'", fmt::join(words.pairs, "' '")));
    boost::replace_all(script, "@KEYS@", fmt::format("{}", fmt::join(words.keys, " ")));
    for (auto const& each : words.commands)
        script += after("") + fmt::format(" -a {} -d {}\n", each.word, fish_word(each.text));
    for (auto const& [first, seconds] : words.seconds) {
        for (auto const& each : seconds)
            script += after(first) + fmt::format(" -a {} -d {}\n", each.word, fish_word(each.text));
    }
    for (CommandSpec const& command : table) {
        if (command.hidden) continue;
        for (OptionSpec const& option : command.options)
            if (!option.hidden) script += option_line(command.name, option);
        if (command.positionals.empty()) continue;
        auto const& first = command.positionals.front();
        auto const words_offered = offer(first.complete, first.choices);
        if (!words_offered.empty()) script += after(command.name) + words_offered + "\n";
    }
    return script;
}

}  // namespace osora::cli
