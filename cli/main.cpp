// osora: reads the environment once, finds the command and runs it. An unexpected exception ends
// here with exit code 5.
#include "base/text/nearest.hpp"
#include "base/version.hpp"
#include "cli/command/command.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/help.hpp"
#include "cli/command/print.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <filesystem>

namespace osora::cli {
namespace {

int unknown_command(std::vector<CommandSpec> const& table, std::vector<std::string> const& words) {
    std::vector<std::string_view> names{"--help", "--version"};
    std::string seconds;  // commands that start with this word: "config" without "show"
    for (CommandSpec const& each : table) {
        if (each.hidden) continue;
        names.push_back(each.name);
        if (!each.name.starts_with(words[0] + " ")) continue;
        seconds += fmt::format("{}osora {}", seconds.empty() ? "" : ", ", each.name);
    }
    if (!seconds.empty()) return fail(kExitUsage, "did you mean " + seconds + "?");
    auto const near = nearest_name(words[0], names);
    return fail(kExitUsage, fmt::format("unknown {} {}; {}",
                                        words[0].starts_with('-') ? "option" : "command", words[0],
                                        near ? fmt::format("did you mean {}?", *near)
                                             : std::string("osora --help lists them")));
}

int run(Context const& context, std::vector<std::string> const& words) {
    auto const table = command_table();
    bool const help = words.empty() || words[0] == "--help" || words[0] == "-h" ||
                      (words[0] == "help" && words.size() == 1);
    if (help) {
        cli::print(words.empty() ? stderr : stdout, "{}", program_help(table));
        return words.empty() ? kExitUsage : kExitOk;
    }
    if (words[0] == "--version") {
        cli::print("osora {} ({})\n", kVersion, kGitCommit);
        return kExitOk;
    }
    bool const asked = words[0] == "help";
    std::vector<std::string> const rest(words.begin() + (asked ? 1 : 0), words.end());
    auto const match = find_command(table, rest);
    if (match.command == nullptr) return unknown_command(table, rest);
    auto const arguments = parse_arguments(*match.command, std::span(rest).subspan(match.words));
    if (asked || (arguments.has_value() && arguments->has("--help"))) {
        cli::print("{}", command_help(*match.command));
        return kExitOk;
    }
    if (arguments.has_error()) return fail(kExitUsage, arguments.error());
    return match.command->run(context, *arguments);
}

/// The exit code of a command that returned `exit_code`: output that was lost is a failure.
int after_output(int exit_code) {
    auto const flushed = flush_output(stdout);
    if (!flushed.has_error()) return exit_code;
    fail(kExitBad, "stdout: " + flushed.error().message);
    return exit_code == kExitOk ? kExitBad : exit_code;
}

Context context_of_process() {
    Context context;
    context.environment = current_environment();
    context.terminal = terminal_of(STDOUT_FILENO, context.environment);
    std::error_code error;
    context.program_dir = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    context.site_file = site_file(context.environment);
    context.user_file = user_file(context.environment);
    return context;
}

}  // namespace
}  // namespace osora::cli

int main(int argc, char** argv) {
    try {
        return osora::cli::after_output(
            osora::cli::run(osora::cli::context_of_process(), {argv + 1, argv + argc}));
    } catch (std::exception const& error) {
        return osora::cli::fail(osora::kExitInternal,
                                std::string("internal error: ") + error.what());
    }
}
