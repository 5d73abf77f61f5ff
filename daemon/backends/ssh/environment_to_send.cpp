#include "daemon/backends/ssh/environment_to_send.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace osora::daemon {
namespace {

constexpr std::array<std::string_view, 26> kNames{"HOME",
                                                  "USER",
                                                  "LOGNAME",
                                                  "SHELL",
                                                  "MAIL",
                                                  "HOSTNAME",
                                                  "HOST",
                                                  "PWD",
                                                  "OLDPWD",
                                                  "SHLVL",
                                                  "_",
                                                  "TERM",
                                                  "COLORTERM",
                                                  "COLUMNS",
                                                  "LINES",
                                                  "DISPLAY",
                                                  "XAUTHORITY",
                                                  "WINDOWID",
                                                  "STY",
                                                  "TMUX",
                                                  "TMPDIR",
                                                  "INVOCATION_ID",
                                                  "JOURNAL_STREAM",
                                                  "OSORA_NODE",
                                                  "OSORA_RUN_UUID",
                                                  "XDG_RUNTIME_DIR"};
constexpr std::array<std::string_view, 9> kPrefixes{"SSH_",   "SUDO_",   "DBUS_", "XDG_S", "XDG_V",
                                                    "SLURM_", "SLURMD_", "PMI_",  "GPG_"};

bool stays(std::string_view entry) {
    std::size_t const equals = entry.find('=');
    if (equals == 0 || equals == entry.npos) return true;
    std::string_view const name = entry.substr(0, equals);
    return std::ranges::find(kNames, name) != kNames.end() ||
           std::ranges::any_of(kPrefixes, [name](auto each) { return name.starts_with(each); });
}

}  // namespace

std::vector<protocol::Bytes> environment_to_send(Environment const& environment) {
    std::vector<protocol::Bytes> sent;
    for (std::string const& entry : environment) {
        if (!stays(entry)) sent.push_back({entry});
    }
    return sent;
}

}  // namespace osora::daemon
