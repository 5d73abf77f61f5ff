// --help, for all commands and for one, generated from the command table. Pure.
#pragma once

#include "cli/command/command.hpp"

#include <span>
#include <string>

namespace osora::cli {

[[nodiscard]] std::string program_help(std::span<CommandSpec const> table);
[[nodiscard]] std::string command_help(CommandSpec const& command);

/// "osora submit RUN.toml [options]"
[[nodiscard]] std::string synopsis(CommandSpec const& command);

/// Exit codes and variables, as on the man page.
struct NamedText {
    std::string_view name;
    std::string_view text;
};
[[nodiscard]] std::span<NamedText const> exit_codes();
[[nodiscard]] std::span<NamedText const> environment_variables();
[[nodiscard]] std::span<NamedText const> files();

}  // namespace osora::cli
