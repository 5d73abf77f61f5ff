// Text for 80 columns.
#include "cli/command/help.hpp"

#include "cli/text/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace osora::cli {
namespace {

constexpr int kHelpColumn = 26;

constexpr std::array kExitCodes{
    NamedText{"0", "ok"},
    NamedText{"1", "the answer is bad: the run failed"},
    NamedText{"2", "usage, or invalid input"},
    NamedText{"3", "undecided: not enough data"},
    NamedText{"4", "cannot reach a controller, host or scheduler"},
    NamedText{"5", "internal error"},
    NamedText{"93", "stopped; do not queue it again"},
    NamedText{"130", "cancelled or interrupted"},
};
constexpr std::array kVariables{
    NamedText{"OSORA_STATE_DIR", "Folder of runs, history and calibration; closed to other users."},
    NamedText{"OSORA_TRUST_PARENTS",
              "1: whoever may write to the folders above the state folder is trusted."},
    NamedText{"OSORA_SITE_CONFIG", "Settings of the site, instead of /etc/osora/config.toml."},
    NamedText{"OSORA_WORKER", "Worker program, instead of the osora-worker beside osora."},
    NamedText{"XDG_STATE_HOME, XDG_CONFIG_HOME", "Where state and settings of a user are."},
    NamedText{"NO_COLOR", "No colour, also on a terminal."},
};
constexpr std::array kFiles{
    NamedText{"/etc/osora/config.toml", "Settings of the site: keys of a run file."},
    NamedText{"~/.config/osora/config.toml", "Settings of a user; they win over the site's."},
    NamedText{"~/.local/state/osora/runs/NAME-NUMBER",
              "Directory of a run: run file, plan, journal, logs and checkpoints."},
    NamedText{"~/.local/state/osora/history.db", "Index of all runs (SQLite)."},
};

/// "  NAME      help", with the help wrapped beside the name or, if that is long, below it.
std::string entry(std::string const& name, std::string_view help) {
    std::string text = filled(help, kHelpColumn, kColumns);
    std::string const label = "  " + name;
    if (display_width(label) + 2 > kHelpColumn) return label + "\n" + text;
    return fmt::format("{:<{}}{}", label, kHelpColumn,
                       text.substr(static_cast<std::size_t>(kHelpColumn)));
}

std::string option_help(OptionSpec const& option) {
    std::string help(option.help);
    if (option.repeated) help += " May be given several times.";
    std::string name(option.name);
    if (!option.shorthand.empty()) name = fmt::format("{}, {}", option.shorthand, name);
    if (!option.value.empty()) name += fmt::format(" {}", option.value);
    return entry(name, help);
}

}  // namespace

std::span<NamedText const> exit_codes() {
    return kExitCodes;
}
std::span<NamedText const> environment_variables() {
    return kVariables;
}
std::span<NamedText const> files() {
    return kFiles;
}

std::string synopsis(CommandSpec const& command) {
    std::string text = fmt::format("osora {}", command.name);
    for (PositionalSpec const& each : command.positionals) {
        text += each.required ? fmt::format(" {}", each.name) : fmt::format(" [{}]", each.name);
    }
    return text + " [options]";
}

std::string program_help(std::span<CommandSpec const> table) {
    std::string text =
        "osora plans, launches, steers and explains the training of video-diffusion models.\n\n"
        "usage: osora COMMAND [options]\n\ncommands:\n";
    text = filled(text.substr(0, text.find('\n')), 0, kColumns) + text.substr(text.find('\n') + 1);
    for (CommandSpec const& command : table) {
        if (command.hidden) continue;
        text += entry(std::string(command.name), command.summary);
    }
    text +=
        "\nA first run:\n"
        "  osora init > first.toml      # then name your clips in it\n"
        "  osora submit first.toml\n\n"
        "osora COMMAND --help says more; RUN is a number, a name or the start of a uuid.\n";
    return text;
}

std::string command_help(CommandSpec const& command) {
    std::string text = fmt::format("usage: {}\n\n", synopsis(command));
    text += filled(command.details, 0, kColumns);
    if (!command.positionals.empty()) text += "\n";
    for (PositionalSpec const& each : command.positionals) {
        text += entry(std::string(each.name), each.help);
    }
    text += "\noptions:\n";
    for (OptionSpec const& each : command.options) {
        if (!each.hidden) text += option_help(each);
    }
    text += entry("--help", "Print this text.");
    text += "\nexample:\n";
    std::string_view rest = command.example;
    while (!rest.empty()) {
        auto const end = std::min(rest.find('\n'), rest.size());
        text += fmt::format("  {}\n", rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return text;
}

}  // namespace osora::cli
