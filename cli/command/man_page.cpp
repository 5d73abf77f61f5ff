// Uses the man macros only; without version and date, so that the file changes only with the table.
#include "cli/command/man_page.hpp"

#include "cli/command/help.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

/// Text escaped so that troff prints it unchanged.
std::string escaped(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        bool const line_start = i == 0 || text[i - 1] == '\n';
        if (line_start && (text[i] == '.' || text[i] == '\'')) result += "\\&";
        if (text[i] == '\\') {
            result += "\\e";
        } else if (text[i] == '-') {
            result += "\\-";
        } else {
            result += text[i];
        }
    }
    return result;
}

std::string paragraphs(std::string_view text) {
    std::string result = escaped(text);
    for (auto at = result.find("\n\n"); at != std::string::npos; at = result.find("\n\n", at + 1)) {
        result.replace(at, 2, "\n.PP\n");
    }
    return result + "\n";
}

std::string item(std::string_view name, std::string_view text) {
    return fmt::format(".TP\n.B {}\n{}\n", escaped(name), escaped(text));
}

std::string list(std::string_view title, std::span<NamedText const> rows) {
    std::string text = fmt::format(".SH {}\n", title);
    for (NamedText const& row : rows) text += item(row.name, row.text);
    return text;
}

std::string command_text(CommandSpec const& command) {
    std::string text =
        fmt::format(".SS {}\n{}", escaped(synopsis(command)), paragraphs(command.details));
    for (PositionalSpec const& each : command.positionals) text += item(each.name, each.help);
    for (OptionSpec const& each : command.options) {
        if (each.hidden) continue;
        std::string const name = each.value.empty() ? std::string(each.name)
                                                    : fmt::format("{} {}", each.name, each.value);
        text += item(name, each.help);
    }
    return text +
           fmt::format(".PP\nExample:\n.PP\n.nf\n.RS\n{}\n.RE\n.fi\n", escaped(command.example));
}

}  // namespace

std::string man_page(std::span<CommandSpec const> table) {
    std::string text =
        ".TH OSORA 1 \"\" osora \"User Commands\"\n.SH NAME\n"
        "osora \\- plan, launch, steer and explain the training of video-diffusion models\n"
        ".SH SYNOPSIS\n.B osora\n.I COMMAND\n[options]\n.SH DESCRIPTION\n"
        "One command, osora submit, checks a run file, plans layout and batch, starts one worker\n"
        "process per GPU (or per CPU rank), keeps them running through faults, and records what\n"
        "happened. A RUN is a number, a name, or the start of a uuid.\n.SH COMMANDS\n";
    for (CommandSpec const& command : table) {
        if (!command.hidden) text += command_text(command);
    }
    text += list("EXIT STATUS", exit_codes());
    text += list("ENVIRONMENT", environment_variables());
    text += list("FILES", files());
    return text;
}

}  // namespace osora::cli
