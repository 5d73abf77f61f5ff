// Standard input is read to its end, for at most ten seconds: the process that starts an agent has
// its input ready.
#include "daemon/agent/agent_start.hpp"

#include "base/files/files.hpp"
#include "daemon/process/orphans.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

namespace osora::daemon {
namespace {

constexpr int kStartLimitMs = 10'000;
constexpr std::size_t kStartBytesMax = 2 << 20;  // an environment of 512 KiB, as base64

}  // namespace

Result<AgentStart> read_agent_start(int fd) {
    std::string text;
    std::array<char, 4096> buffer{};
    while (true) {
        pollfd waited{.fd = fd, .events = POLLIN, .revents = 0};
        int const ready = ::poll(&waited, 1, kStartLimitMs);
        if (ready == 0) return Error{Errc::timed_out, "no instructions on standard input"};
        ssize_t const got = ::read(fd, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_error(errno, "read", "standard input");
        if (got == 0) break;
        text.append(buffer.data(), static_cast<std::size_t>(got));
        if (text.size() > kStartBytesMax) {
            return Error{Errc::invalid_input,
                         "standard input: longer than an agent's instructions can be"};
        }
    }
    auto start = protocol::decode<AgentStart>(text);
    if (start.has_error()) return std::move(start).error().in("standard input");
    return start;
}

Result<void> resolve_node(AgentStart& start, Environment& environment) {
    for (protocol::Bytes const& each : start.environment) {
        auto const equals = each.value.find('=');
        if (equals == 0 || equals == std::string::npos) {
            return Error{Errc::invalid_input, "standard input: environment: not NAME=value"};
        }
        std::string_view const entry = each.value;
        set_variable(environment, entry.substr(0, equals), entry.substr(equals + 1));
    }
    if (start.node == -1) {
        std::string const id = variable_or(environment, "SLURM_NODEID", "");
        auto const* const end = id.data() + id.size();
        auto const read = std::from_chars(id.data(), end, start.node);
        if (id.empty() || read.ec != std::errc() || read.ptr != end || start.node < 0) {
            return Error{Errc::invalid_input,
                         fmt::format("SLURM_NODEID is '{}': this agent is to take its node "
                                     "number from it",
                                     id)};
        }
    }
    set_variable(environment, kRunMark, start.run_uuid);
    set_variable(environment, kNodeMark, std::to_string(start.node));
    return {};
}

}  // namespace osora::daemon
