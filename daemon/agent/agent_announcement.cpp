// The process that waits for the line always gets one: with an identity, or with a reason.
#include "daemon/agent/agent_announcement.hpp"

#include "base/files/descriptor.hpp"
#include "base/files/files.hpp"
#include "base/host_name.hpp"
#include "base/ids.hpp"
#include "daemon/net/controller_file.hpp"
#include "protocol/run_directory.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace osora::daemon {
namespace {

namespace fs = std::filesystem;

constexpr int kWayLimitMs = 3000;

struct FreeAddress {
    void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

/// 0, or the errno of the connect.
int try_connect(std::string const& address, int port) {
    addrinfo wanted{};
    wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* raw = nullptr;
    if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &raw) != 0) {
        return EINVAL;
    }
    std::unique_ptr<addrinfo, FreeAddress> const found(raw);
    Descriptor const fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.is_open()) return errno;
    if (::connect(fd.get(), found->ai_addr, found->ai_addrlen) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    pollfd waited{.fd = fd.get(), .events = POLLOUT, .revents = 0};
    if (::poll(&waited, 1, kWayLimitMs) == 0) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
}

Result<void> say(AgentAnnounced const& announced) {
    std::string const line = protocol::encode(announced) + "\n";
    ssize_t const written = ::write(STDOUT_FILENO, line.data(), line.size());
    if (written == static_cast<ssize_t>(line.size())) return {};
    return file_error(errno, "write", "standard output");
}

Result<void> write_to_log(fs::path const& path) {
    OSORA_TRY(auto const log, open_private(path, O_WRONLY | O_APPEND));
    Descriptor const nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ::dup2(nothing.get(), STDIN_FILENO);
    ::dup2(log.get(), STDOUT_FILENO);
    ::dup2(log.get(), STDERR_FILENO);
    return {};
}

}  // namespace

Result<void> check_host(AgentStart const& start) {
    protocol::RunPaths const paths{start.run_dir};
    std::error_code error;
    if (!fs::is_directory(paths.dir, error)) {
        return Error{Errc::not_found,
                     fmt::format("{}: no such folder here: run directories must be on a file "
                                 "system that every host sees (set OSORA_STATE_DIR to one)",
                                 start.run_dir)};
    }
    auto const file = read_controller_file(paths, start.run_uuid);
    if (file.has_error()) {
        return Error{Errc::invalid_input,
                     fmt::format("{}: not the run's directory as its controller sees it: {}",
                                 start.run_dir, file.error().message)};
    }
    if (!start.exec && ::access(start.worker.c_str(), X_OK) != 0) {
        return Error{Errc::not_found,
                     fmt::format("{}: {}: the worker program must be there on every host",
                                 start.worker, std::strerror(errno))};
    }
    return {};
}

Result<void> check_way_to_controller(AgentAddress const& controller) {
    std::string tried;
    for (std::string const& address : controller.addresses) {
        int const error = try_connect(address, controller.port);
        if (error == 0) return {};
        tried += fmt::format("{}{} ({})", tried.empty() ? "" : ", ", address,
                             error == ETIMEDOUT ? "no answer" : std::strerror(error));
    }
    return Error{Errc::unreachable,
                 fmt::format("cannot reach the controller from here: port {} of {}; is there a "
                             "firewall in between?",
                             controller.port, tried.empty() ? "no address" : tried)};
}

Result<void> announce_agent(AgentStart const& start) {
    if (start.log.empty()) return {};
    AgentAnnounced announced;
    announced.host = host_name();
    announced.boot_id = boot_id();
    announced.pid = ::getpid();
    if (auto const self = process_id_of(announced.pid); self.has_value()) {
        announced.start_ticks = self->start_ticks;
    }
    auto fit = check_host(start);
    if (fit.has_value()) fit = check_way_to_controller(start.controller);
    if (fit.has_error()) announced.error = fit.error().message;
    OSORA_TRY_VOID(say(announced));
    if (fit.has_error()) return fit;
    return write_to_log(fs::path(start.run_dir) / start.log);
}

}  // namespace osora::daemon
