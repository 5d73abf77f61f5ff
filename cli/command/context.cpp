// Paths, from the environment that main read.
#include "cli/command/context.hpp"

#include "base/text/printable.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/explanations.hpp"
#include "cli/command/print.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <cstdio>
#include <system_error>

namespace osora::cli {
namespace {

/// The value of NAME if it is an absolute path, as the XDG specification requires; else empty.
std::filesystem::path absolute_variable(Environment const& environment, std::string_view name) {
    std::filesystem::path const path = variable_or(environment, name, "");
    return path.is_absolute() ? path : std::filesystem::path();
}

}  // namespace

Result<std::filesystem::path> state_dir(Environment const& environment) {
    if (auto const own = variable_or(environment, "OSORA_STATE_DIR", ""); !own.empty()) {
        std::error_code error;
        auto const path = std::filesystem::absolute(own, error);
        if (error) return Error{Errc::io, "OSORA_STATE_DIR " + own + ": " + error.message()};
        return path.lexically_normal();
    }
    auto const xdg = absolute_variable(environment, "XDG_STATE_HOME");
    if (!xdg.empty()) return xdg / "osora";
    auto const home = absolute_variable(environment, "HOME");
    if (!home.empty()) return home / ".local" / "state" / "osora";
    return Error{Errc::invalid_input,
                 "where to keep runs: HOME is not set; set OSORA_STATE_DIR to a folder"};
}

std::filesystem::path site_file(Environment const& environment) {
    return variable_or(environment, "OSORA_SITE_CONFIG", "/etc/osora/config.toml");
}

std::filesystem::path user_file(Environment const& environment) {
    auto const xdg = absolute_variable(environment, "XDG_CONFIG_HOME");
    if (!xdg.empty()) return xdg / "osora" / "config.toml";
    auto const home = absolute_variable(environment, "HOME");
    return home.empty() ? home : home / ".config" / "osora" / "config.toml";
}

int fail(int exit_code, std::string_view message) {
    std::fflush(stdout);
    cli::print(stderr, "osora: {}\n", printable(message, "\n\t"));
    return exit_code;
}

int fail(int exit_code, Error const& error) {
    fail(exit_code, error.message);
    auto const id = explanation_of(error.code);
    if (!id.empty() && ::isatty(STDERR_FILENO) == 1)
        cli::print(stderr, "       osora explain {}\n", id);
    return exit_code;
}

int fail(Error const& error) {
    return fail(exit_code_for(error.code), error);
}

int exit_code_for(Errc code) {
    switch (code) {
        case Errc::invalid_input:
        case Errc::not_divisible:
        case Errc::not_found:
            return kExitUsage;
        case Errc::unreachable:
        case Errc::timed_out:
            return kExitUnreachable;
        case Errc::cancelled:
            return kExitInterrupted;
        default:
            return kExitBad;
    }
}

}  // namespace osora::cli
