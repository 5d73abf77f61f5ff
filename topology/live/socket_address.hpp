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

/// Parses "10.0.0.4" or "fe80::1%eth0" with a port; invalid_input if it is neither.
[[nodiscard]] Result<SocketAddress> parse_address(std::string const& address, int port);
/// 0: unbound.
[[nodiscard]] int bound_port(int socket);

/// The numeric address of a connection's peer; IPv4 without the IPv6 prefix. "" if not connected.
[[nodiscard]] std::string peer_address(int socket);

struct OwnAddress {
    std::string interface;  // "eth0"
    std::string address;    // "10.0.0.4"
    std::string network;    // "10.0.0.0/24"
};
/// Addresses of interfaces that are up, without loopback and link-local ones; by interface name.
[[nodiscard]] std::vector<OwnAddress> network_addresses();

}  // namespace osora::topology
