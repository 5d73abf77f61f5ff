// The addresses of this machine that agents elsewhere may reach it by, and the options of every
// connection between machines.
#pragma once

#include <string>
#include <vector>

namespace osora::daemon {

struct InterfaceAddress {
    std::string interface;  // "eth0"
    std::string address;    // numeric
    bool loopback = false, up = true;
};

/// The addresses that agents should try, the most likely first: `preferred`, then other interfaces,
/// IPv4 first, bridges of containers and virtual machines last. Link-local addresses are left out;
/// loopback addresses stay when there is no other. Pure.
[[nodiscard]] std::vector<std::string> order_addresses(std::vector<InterfaceAddress> const& all,
                                                       std::string const& preferred);

/// order_addresses() of this machine; the address of its default route is preferred.
[[nodiscard]] std::vector<std::string> own_addresses();

/// No delay, and an end once the peer has acknowledged nothing for five seconds: an agent then
/// reconnects rather than wait for retransmissions at ever longer intervals.
void prepare_socket(int socket);

}  // namespace osora::daemon
