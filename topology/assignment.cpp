// Parses shell lines only as far as assignments go; NCCL's lines exactly as NCCL does.
#include "topology/assignment.hpp"

#include "base/text/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace osora::topology {
namespace {

/// Calls `each(line, number)` for every line, without its '\n'.
template <class Each>
void for_each_line(std::string_view text, Each each) {
    int number = 0;
    while (!text.empty()) {
        std::size_t const end = std::min(text.find('\n'), text.size());
        each(text.substr(0, end), ++number);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

bool is_name_byte(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view without(std::string_view text, std::string_view word) {
    return text.starts_with(word) ? trimmed(text.substr(word.size())) : text;
}

/// The value that a shell makes of a word: without quotes, up to the next blank or ';'.
std::string shell_word(std::string_view text, bool& exact) {
    std::string word;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char const c = text[i];
        if (quote != '\'' && (c == '$' || c == '`')) exact = false;
        if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
            word += text[++i];
        } else if (quote != 0 && c == quote) {
            quote = 0;
        } else if (quote == 0 && (c == '"' || c == '\'')) {
            quote = c;
        } else if (quote == 0 && std::string_view(" \t\r;&|#)").find(c) != std::string_view::npos) {
            break;
        } else {
            word += c;
        }
    }
    return word;
}

/// The value after a name: "=VALUE", csh's " VALUE", pam_env's " DEFAULT=VALUE". What a TaskProlog
/// prints inside quotes ends with the quote, so `echo "export A=b"` gives "b".
std::optional<std::string_view> value_after(std::string_view rest, bool csh, bool quoted) {
    if (csh) return trimmed(rest);
    if (rest.starts_with('=')) {
        rest.remove_prefix(1);
        if (quoted && !rest.empty() && rest.front() != '\\') {
            rest = rest.substr(0, rest.find_first_of("\"'"));
        }
        return rest;
    }
    for (std::string_view const key : {"OVERRIDE=", "DEFAULT="}) {
        auto const at = rest.find(key);
        if (at != std::string_view::npos) return rest.substr(at + key.size());
    }
    return std::nullopt;
}

void add_shell_line(std::string_view line, int number, std::vector<Assignment>& found) {
    constexpr std::size_t kLineBytesMax = 8192;  // the work is a product; no real line is that long
    line = trimmed(line);
    if (line.empty() || line.size() > kLineBytesMax || line.front() == '#') return;
    for (std::size_t at = 0; at < line.size();) {
        std::size_t const end = std::find_if_not(line.begin() + static_cast<std::ptrdiff_t>(at),
                                                 line.end(), is_name_byte) -
                                line.begin();
        std::string_view const name = line.substr(at, end - at);
        bool const starts =
            at == 0 || std::string_view(" \t;\"'&").find(line[at - 1]) != std::string_view::npos;
        if (starts && is_communication_variable(name)) {
            auto const before = line.substr(0, at);
            bool const quoted =
                std::ranges::count(before, '"') % 2 + std::ranges::count(before, '\'') % 2 > 0;
            bool const csh = trimmed(before).ends_with("setenv");
            if (auto const value = value_after(line.substr(end), csh, quoted)) {
                Assignment each{std::string(name), "", number};
                each.value = shell_word(*value, each.exact);
                found.push_back(std::move(each));
            }
        }
        at = std::max(end, at + 1);
    }
}

/// A value that NCCL takes literally although that was not meant.
std::string odd_value(std::string_view value) {
    if (value.ends_with('\r')) return "DOS line end: the value ends in a carriage return";
    bool const quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
                        value.back() == value.front();
    if (quoted) return "the quotes are part of the value: NCCL's files are not a shell's";
    bool const blank = value.ends_with(' ') || value.ends_with('\t') || value.starts_with(' ');
    if (blank) return "the blank is part of the value";
    return "";
}

}  // namespace

bool is_communication_variable(std::string_view name) {
    constexpr std::array<std::string_view, 4> kPrefixes{"NCCL_", "TORCH_NCCL_", "TORCH_FR_",
                                                        "GLOO_"};
    if (name == "TP_SOCKET_IFNAME") return true;
    // NVIDIA's container images note there which NCCL they carry; no library reads it.
    if (name == "NCCL_VERSION") return false;
    bool const plain = std::ranges::all_of(name, is_name_byte);
    return plain && std::ranges::any_of(kPrefixes, [&](std::string_view prefix) {
               return name.starts_with(prefix) && name.size() > prefix.size();
           });
}

std::map<std::string, std::string> communication_variables(Environment const& environment) {
    std::map<std::string, std::string> found;
    for (std::string const& entry : environment) {
        auto const equals = entry.find('=');
        if (equals == std::string::npos) continue;
        auto name = entry.substr(0, equals);
        if (!is_communication_variable(name)) continue;
        found.emplace(std::move(name), entry.substr(equals + 1));
    }
    return found;
}

std::vector<Assignment> parse_nccl_conf(std::string_view text) {
    constexpr std::size_t kBytesMax = 1023;
    std::vector<Assignment> found;
    for_each_line(text, [&](std::string_view line, int number) {
        line = line.substr(0, line.find('\0'));  // as C reads it
        auto const equals = line.find('=');
        if (line.starts_with('#') || equals == std::string_view::npos) return;
        auto const name = line.substr(0, std::min(equals, kBytesMax));
        auto meant = trimmed(name);
        for (std::string_view const word : {"export ", "setenv ", "set "}) {
            meant = without(meant, word);
        }
        if (!is_communication_variable(meant)) return;
        Assignment each{std::string(meant), std::string(line.substr(equals + 1, kBytesMax)),
                        number};
        each.taken = meant == name;
        if (!each.taken) {
            each.note = fmt::format("does nothing: NCCL takes '{}' for the name", name);
        } else if (line.size() - equals - 1 > kBytesMax) {
            each.note = "cut off: NCCL reads 1,023 bytes";
        } else {
            each.note = odd_value(each.value);
        }
        found.push_back(std::move(each));
    });
    return found;
}

std::vector<Assignment> parse_environment_file(std::string_view text) {
    std::vector<Assignment> found;
    for_each_line(text,
                  [&](std::string_view line, int number) { add_shell_line(line, number, found); });
    return found;
}

}  // namespace osora::topology
