// osora completion, and the hidden commands for the script and the build.
#include "cli/command/command.hpp"
#include "cli/command/commands.hpp"
#include "cli/completion/completion.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/man_page.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/run/runs.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

int run_completion(Context const&, Arguments const& arguments) {
    auto const shell = *arguments.value("SHELL");
    auto const table = command_table();
    std::string const script = shell == "zsh"    ? zsh_completion(table)
                               : shell == "fish" ? fish_completion(table)
                                                 : bash_completion(table);
    if (arguments.has("--json")) {
        print_json("completion", {{"shell", shell}, {"script", script}});
    } else {
        cli::print("{}", script);
    }
    return kExitOk;
}

/// Names and numbers, newest first; silent on errors, because a shell is waiting for a Tab key.
int run_completion_runs(Context const& context, Arguments const&) {
    auto const state = state_dir(context.environment);
    if (state.has_error()) return kExitOk;
    auto const runs = list_runs(*state);
    if (runs.has_error()) return kExitOk;
    for (RunFolder const& each : *runs) cli::print("{}\n{}\n", each.number, each.name);
    return kExitOk;
}

int run_man(Context const&, Arguments const&) {
    cli::print("{}", man_page(command_table()));
    return kExitOk;
}

}  // namespace

CommandSpec completion_command() {
    return {.name = "completion",
            .summary = "a completion script for the shell",
            .details =
                "Prints a script for bash, zsh or fish that completes commands, options, keys of "
                "--set, run files, and names and numbers of runs. For zsh, FOLDER is one of "
                "$fpath.",
            .example =
                "osora completion bash > ~/.local/share/bash-completion/completions/osora\n"
                "osora completion zsh > FOLDER/_osora\n"
                "osora completion fish > ~/.config/fish/completions/osora.fish",
            .positionals = {{.name = "SHELL",
                             .help = "bash, zsh or fish.",
                             .choices = "bash|zsh|fish"}},
            .options = {json_option()},
            .run = run_completion};
}

CommandSpec completion_runs_command() {
    return {.name = "completion runs",
            .summary = "runs, for the completion script",
            .details = "Prints numbers and names of runs, newest first.",
            .example = "osora completion runs",
            .positionals = {},
            .options = {},
            .run = run_completion_runs,
            .hidden = true};
}

CommandSpec man_command() {
    return {.name = "man",
            .summary = "the man page",
            .details = "Prints osora(1) as troff.",
            .example = "osora man | man -l -",
            .positionals = {},
            .options = {},
            .run = run_man,
            .hidden = true};
}

}  // namespace osora::cli
