// Numeric addresses of sockets, and this machine's interfaces.
#pragma once

#include "base/result.hpp"

#include <sys/socket.h>

#include <string>
#include <vector>

namespace osora::topology {

class SocketAddress {
public:
    [[nodiscard]] sockaddr const* get() const {
        return reinterpret_cast<sockaddr const*>(&storage_);
    }
    [[nodiscard]] socklen_t size() const { return size_; }
    [[nodiscard]] int family() const { return storage_.ss_family; }

private:
    friend Result<SocketAddress> parse_address(std::string const& address, int port);
    sockaddr_storage storage_{};
    socklen_t size_ = 0;
};

/// "10.0.0.4", "fe80::1%eth0" and a port; invalid_input when it is neither.
[[nodiscard]] Result<SocketAddress> parse_address(std::string const& address, int port);
/// 0: not bound.
[[nodiscard]] int bound_port(int socket);

/// The numeric address of the other side of a connection; an IPv4 one plain, also behind an IPv6
/// socket. "" when it is not connected.
[[nodiscard]] std::string peer_address(int socket);

struct OwnAddress {
    std::string interface;  // "eth0"
    std::string address;    // "10.0.0.4"
    std::string network;    // "10.0.0.0/24"
};
/// Of interfaces that are up, without loopback and addresses that mean something on one link only;
/// by name of the interface.
[[nodiscard]] std::vector<OwnAddress> network_addresses();

}  // namespace osora::topology
