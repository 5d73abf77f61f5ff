// One shell function with a case per command; the words come from the table.
#include "cli/completion/completion.hpp"

#include "cli/completion/completion_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/algorithm/string/replace.hpp>

namespace osora::cli {
namespace {

constexpr std::string_view kHead =
    R"bash(# bash completion for osora; made by `osora completion bash`.
# Names come from folders where others may have put them: they are matched as text, never expanded
# (`compgen -W` would run a "$(command)" in them), and quoted where they go into the line.
_osora_offer() {
    local word=
    COMPREPLY=()
    for word in "$@"; do
        [[ $word == "$current"* ]] || continue
        printf -v word '%q' "$word"
        COMPREPLY+=("$word")
    done
}
_osora_words() {
    local -a words=()
    read -ra words <<<"$1"
    _osora_offer "${words[@]}"
}
_osora_files() {
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
}
_osora_run_files() {
    mapfile -t COMPREPLY < <(
        compgen -f -X '!*.toml' -- "$current"
        compgen -d -- "$current"
    )
    compopt -o filenames 2>/dev/null
}
_osora_folders() {
    mapfile -t COMPREPLY < <(compgen -d -- "$current")
    compopt -o filenames 2>/dev/null
}
_osora_runs() {
    local -a names=()
    mapfile -t names < <("${COMP_WORDS[0]}" completion runs 2>/dev/null)
    _osora_offer "${names[@]}"
}
)bash";

constexpr std::string_view kBody = R"bash(_osora() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command= first= word= i=
    COMPREPLY=()
    # Bash cuts --set a.b=c at the '='; the part before it is what matters.
    for ((i = 1; i < COMP_CWORD; ++i)); do
        word=${COMP_WORDS[i]}
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
        _osora_words "@COMMANDS@ --help --version"
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
complete -F _osora osora
)bash";

std::string function_for(Complete complete, std::string_view choices) {
    if (!choices.empty()) {
        return fmt::format("_osora_words \"{}\"", words_of_choices(choices));
    }
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

/// Keys for --set, without a space after them.
std::string keys_function(std::vector<std::string> const& keys) {
    return fmt::format(
        "_osora_keys() {{\n    _osora_words \"{}\"\n    compopt -o nospace 2>/dev/null\n}}\n",
        fmt::join(keys, " "));
}

std::string names_of(std::vector<OfferedWord> const& words) {
    std::string names;
    for (auto const& each : words) names += (names.empty() ? "" : " ") + each.word;
    return names;
}

}  // namespace

std::string bash_completion(std::span<CommandSpec const> table) {
    auto const words = completion_words(table);
    std::string values;
    std::string options;
    std::string positionals;
    for (CommandSpec const& command : table) {
        if (command.hidden) continue;
        std::string const name(command.name);
        std::string names;
        for (OptionSpec const& option : command.options) {
            if (option.hidden) continue;
            names += fmt::format("{} ", option.name);
            if (option.value.empty()) continue;
            values += fmt::format("    \"{}:{}\") {}; return ;;\n", name, option.name,
                                  function_for(option.complete, option.choices));
        }
        options += fmt::format("        \"{}\") _osora_words \"{}--help\" ;;\n", name, names);
        if (!command.positionals.empty()) {
            auto const& first = command.positionals.front();
            positionals += fmt::format("    \"{}\") {} ;;\n", name,
                                       function_for(first.complete, first.choices));
        }
    }
    for (auto const& [first, seconds] : words.seconds)
        positionals +=
            fmt::format("    \"{}\") _osora_words \"{}\" ;;\n", first, names_of(seconds));
    std::string body(kBody);
    boost::replace_all(body, "@PAIRS@", fmt::format("\"{}\"", fmt::join(words.pairs, "\" | \"")));
    boost::replace_all(body, "@COMMANDS@", names_of(words.commands));
    boost::replace_all(body, "@VALUES@", values);
    boost::replace_all(body, "@OPTIONS@", options);
    boost::replace_all(body, "@POSITIONALS@", positionals);
    return std::string(kHead) + keys_function(words.keys) + body;
}

}  // namespace osora::cli
