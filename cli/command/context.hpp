// What main hands to every command: the environment at start, paths, and the kind of stdout.
// Commands read no other global state.
#pragma once

#include "base/environment.hpp"
#include "base/result.hpp"
#include "cli/text/terminal.hpp"

#include <filesystem>
#include <string>

namespace osora::cli {

struct Context {
    Environment environment;
    Terminal terminal;                  // of stdout
    std::filesystem::path program_dir;  // osora's folder, with osorad and osora-worker
    std::filesystem::path site_file;    // settings of the site, of the user
    std::filesystem::path user_file;
};

/// $OSORA_STATE_DIR, else $XDG_STATE_HOME/osora, else ~/.local/state/osora; absolute. Pure, except
/// that a relative name starts at the working directory.
[[nodiscard]] Result<std::filesystem::path> state_dir(Environment const& environment);

/// $OSORA_SITE_CONFIG, else /etc/osora/config.toml.
[[nodiscard]] std::filesystem::path site_file(Environment const& environment);
/// $XDG_CONFIG_HOME/osora/config.toml, else ~/.config/osora/config.toml; empty without a home.
[[nodiscard]] std::filesystem::path user_file(Environment const& environment);

/// Prints "osora: MESSAGE" on stderr and returns `exit_code`.
int fail(int exit_code, std::string_view message);
/// The same with the message of the error and, on a terminal, the id that explains it.
int fail(int exit_code, Error const& error);
/// The same with the exit code of the error.
int fail(Error const& error);

/// The exit code for an error that reached the user: usage for invalid input, unreachable for a
/// host or daemon, interrupted for a cancel, else kExitBad.
[[nodiscard]] int exit_code_for(Errc code);

}  // namespace osora::cli
