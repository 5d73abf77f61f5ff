// The same structure as the script for bash; words have texts beside them.
#include "cli/completion/completion.hpp"
#include "cli/completion/completion_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/algorithm/string/replace.hpp>

namespace osora::cli {
namespace {

constexpr std::string_view kZshHead =
    R"zsh(#compdef osora
# zsh completion for osora; made by `osora completion zsh`.
_osora_offer() {  # word:text ...
    local -a names texts
    local each=
    for each in "$@"; do
        names+=("${each%%:*}")
        texts+=("${each%%:*}  -- ${each#*:}")
    done
    compadd -l -d texts -a names
}
_osora_files() { _files }
_osora_run_files() { _files -g '*.toml' }
_osora_folders() { _files -/ }
_osora_runs() {
    local -a names
    names=(${(f)"$("${(Q)words[1]}" completion runs 2>/dev/null)"})
    compadd -a names
}
)zsh";

constexpr std::string_view kZshBody = R"zsh(_osora() {
    local previous=${words[CURRENT-1]} current=${words[CURRENT]} command= first= word= i=
    for ((i = 2; i < CURRENT; ++i)); do
        word=${words[i]}
        [[ $word == -* ]] && break
        if [[ -z $first ]]; then
            first=$word command=$word
        else
            case "$first $word" in
            @PAIRS@) command="$first $word" ;;
            esac
            break
        fi
    done
    if [[ -z $command ]]; then
        _osora_offer @COMMANDS@ '--help:help' '--version:version'
        return
    fi
    case "$command:$previous" in
@VALUES@    esac
    if [[ $current == -* ]]; then
        case "$command" in
@OPTIONS@        esac
        return
    fi
    case "$command" in
@POSITIONALS@    esac
}
if [[ ${funcstack[1]-} == _osora ]]; then
    _osora "$@"
elif (( ${+functions[compdef]} )); then
    compdef _osora osora
fi
)zsh";

/// 'word:text' as one word of the shell.
std::string offered(OfferedWord const& word) {
    return "'" + word.word + ":" + boost::replace_all_copy(word.text, "'", "'\\''") + "'";
}

std::string offered(std::vector<OfferedWord> const& words) {
    std::string text;
    for (auto const& each : words) text += (text.empty() ? "" : " ") + offered(each);
    return text;
}

std::string zsh_function_for(Complete complete, std::string_view choices) {
    if (!choices.empty()) return "compadd -- " + words_of_choices(choices);
    switch (complete) {
        case Complete::file:
            return "_osora_files";
        case Complete::run_file:
            return "_osora_run_files";
        case Complete::folder:
            return "_osora_folders";
        case Complete::run:
            return "_osora_runs";
        case Complete::config_key:
            return "_osora_keys";
        case Complete::none:
            break;
    }
    return ":";
}

}  // namespace

std::string zsh_completion(std::span<CommandSpec const> table) {
    auto const words = completion_words(table);
    std::string values, options, positionals;
    for (CommandSpec const& command : table) {
        if (command.hidden) continue;
        std::vector<OfferedWord> names;
        for (OptionSpec const& option : command.options) {
            if (option.hidden) continue;
            names.push_back({std::string(option.name), first_sentence(option.help)});
            if (option.value.empty()) continue;
            values += fmt::format("    '{}:{}') {}; return ;;\n", command.name, option.name,
                                  zsh_function_for(option.complete, option.choices));
        }
        names.push_back({"--help", "help"});
        options += fmt::format("        '{}') _osora_offer {} ;;\n", command.name, offered(names));
        if (command.positionals.empty()) continue;
        auto const& first = command.positionals.front();
        positionals += fmt::format("    '{}') {} ;;\n", command.name,
                                   zsh_function_for(first.complete, first.choices));
    }
    for (auto const& [first, seconds] : words.seconds)
        positionals += fmt::format("    '{}') _osora_offer {} ;;\n", first, offered(seconds));
    std::string body(kZshBody);
    boost::replace_all(body, "@PAIRS@", fmt::format("'{}'", fmt::join(words.pairs, "' | '")));
    boost::replace_all(body, "@COMMANDS@", offered(words.commands));
    boost::replace_all(body, "@VALUES@", values);
    boost::replace_all(body, "@OPTIONS@", options);
    boost::replace_all(body, "@POSITIONALS@", positionals);
    auto const keys =
        fmt::format("_osora_keys() {{\n    compadd -S '' -- {}\n}}\n", fmt::join(words.keys, " "));
    return std::string(kZshHead) + keys + body;
}

}  // namespace osora::cli
