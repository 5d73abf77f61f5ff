// One row of the command table: a command's name, arguments and function. Parsing, --help, bash
// completion and the man page all use these rows, so they cannot diverge.
#pragma once

#include "cli/command/arguments.hpp"
#include "cli/command/context.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace osora::cli {

/// What the shell offers for a value.
enum class Complete { none, file, run_file, folder, run, config_key };

struct PositionalSpec {
    std::string_view name;  // "RUN.toml"
    std::string_view help;
    Complete complete = Complete::none;
    bool required = true;
    std::string_view choices = {};  // "a|b": the only words that are valid
    bool repeated = false;          // the last one only: takes all remaining words
};

struct OptionSpec {
    std::string_view name;   // "--set"
    std::string_view value;  // "SECTION.KEY=VALUE"; empty: a flag
    std::string_view help;
    Complete complete = Complete::none;
    bool repeated = false;
    std::string_view choices = {};
    std::string_view shorthand = {};  // "-o"
    bool hidden = false;              // works, but help, completion and man page do not show it
};

struct CommandSpec {
    std::string_view name;     // "config show"
    std::string_view summary;  // a line of `osora --help`
    std::string_view details;  // paragraphs, filled to the width of the page
    std::string_view example;  // lines as typed, without a prompt
    std::vector<PositionalSpec> positionals;
    std::vector<OptionSpec> options;                                 // --help is added to all
    int (*run)(Context const& context, Arguments const& arguments);  // returns the exit code
    bool hidden = false;
};

/// Every command of this build, in the order of `osora --help`.
[[nodiscard]] std::vector<CommandSpec> command_table();

/// The command that `words` start with ("config", "show", ...) and the number of words in its name;
/// nullptr when there is none.
struct CommandMatch {
    CommandSpec const* command = nullptr;
    std::size_t words = 0;
};
[[nodiscard]] CommandMatch find_command(std::span<CommandSpec const> table,
                                        std::span<std::string const> words);

}  // namespace osora::cli
