// socket, bind to port 0, listen.
#include "daemon/agent/store_port.hpp"

#include "base/files/files.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

namespace osora::daemon {
namespace {

constexpr int kBacklog = 1024;

Error store_error(int error, std::string const& host) {
    std::string const why = std::generic_category().message(error);
    if (error == EADDRINUSE) {
        return {Errc::busy, fmt::format("store: {}: no free port: {}", host, why)};
    }
    return {Errc::io, fmt::format("store: bind a port of {}: {}", host, why)};
}

}  // namespace

Result<StorePort> bind_store_port(std::string const& host) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
        return Error{Errc::invalid_input, fmt::format("store: '{}' is no IPv4 address", host)};
    }
    StorePort store{.socket = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
                    .port = 0};
    if (!store.socket.is_open()) return store_error(errno, host);
    auto* const where = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof address;
    if (::bind(store.socket.get(), where, length) != 0) return store_error(errno, host);
    if (::listen(store.socket.get(), kBacklog) != 0) return store_error(errno, host);
    if (::getsockname(store.socket.get(), where, &length) != 0) return store_error(errno, host);
    store.port = ntohs(address.sin_port);
    return store;
}

}  // namespace osora::daemon
