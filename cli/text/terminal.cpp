// Width, colour and line wrapping.
#include "cli/text/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace osora::cli {
namespace {

constexpr char kEscape = '\x1b';

bool starts_code_point(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

std::string_view sequence(Style style) {
    switch (style) {
        case Style::bold:
            return "\x1b[1m";
        case Style::dim:
            return "\x1b[2m";
        case Style::good:
            return "\x1b[32m";
        case Style::warning:
            return "\x1b[33m";
        case Style::bad:
            return "\x1b[31m";
        case Style::plain:
            break;
    }
    return "";
}

}  // namespace

std::string Terminal::styled(Style style, std::string_view text) const {
    if (!colour || style == Style::plain) return std::string(text);
    return fmt::format("{}{}\x1b[0m", sequence(style), text);
}

Terminal terminal_of(int fd, Environment const& environment) {
    Terminal terminal;
    std::string const kind = variable_or(environment, "TERM", "");
    terminal.interactive = ::isatty(fd) == 1 && !kind.empty() && kind != "dumb";
    // no-color.org: set and not empty, whatever its value.
    terminal.colour = terminal.interactive && variable_or(environment, "NO_COLOR", "").empty();
    terminal.columns = columns_of(fd);
    terminal.rows = rows_of(fd);
    return terminal;
}

int columns_of(int fd) {
    constexpr int kUsual = 80;
    winsize size{};
    if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
    return size.ws_col;
}

int rows_of(int fd) {
    constexpr int kUsual = 24;
    winsize size{};
    if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return kUsual;
    return size.ws_row;
}

int display_width(std::string_view text) {
    int width = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == kEscape) {
            while (i + 1 < text.size() && text[i] != 'm') ++i;
        } else if (starts_code_point(text[i])) {
            ++width;
        }
    }
    return width;
}

std::string clipped(std::string_view text, int columns) {
    int width = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (starts_code_point(text[i]) && ++width > columns) return std::string(text.substr(0, i));
    }
    return std::string(text);
}

std::string filled(std::string_view text, int indent, int columns) {
    std::string const margin(static_cast<std::size_t>(indent), ' ');
    std::string result;
    std::string line;
    auto const flush = [&] {
        if (!line.empty()) result += margin + line + "\n";
        line.clear();
    };
    std::size_t at = 0;
    while (at < text.size()) {
        if (text[at] == '\n') {  // a paragraph ends
            flush();
            if (text.substr(at).starts_with("\n\n")) {
                result += "\n";
                ++at;
            }
            ++at;
            continue;
        }
        auto const end = std::min(text.find_first_of(" \n", at), text.size());
        std::string_view const word = text.substr(at, end - at);
        int const width = display_width(line) + (line.empty() ? 0 : 1) + display_width(word);
        if (!line.empty() && indent + width > columns) flush();
        if (!line.empty()) line += ' ';
        line += word;
        at = end + (end < text.size() && text[end] == ' ' ? 1 : 0);
    }
    flush();
    return result;
}

std::string block(std::string_view label, std::string_view body, int indent) {
    std::string const lines = filled(printable(body), indent, kColumns);
    return fmt::format("{:<{}}{}", label, indent, lines.substr(static_cast<std::size_t>(indent)));
}

}  // namespace osora::cli
