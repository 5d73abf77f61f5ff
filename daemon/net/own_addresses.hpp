// The addresses of this machine that agents elsewhere may reach it by, and what every connection
// between machines gets.
#pragma once

#include <string>
#include <vector>

namespace osora::daemon {

struct InterfaceAddress {
    std::string interface;  // "eth0"
    std::string address;    // numeric
    bool loopback = false, up = true;
};

/// What agents should try, the likeliest first: `preferred`, then other interfaces, IPv4 first,
/// bridges of containers and virtual machines last. Addresses that mean something on one link only
/// are left out; loopback ones stay when there is no other. Pure.
[[nodiscard]] std::vector<std::string> order_addresses(std::vector<InterfaceAddress> const& all,
                                                       std::string const& preferred);

/// order_addresses() of this machine; that of its default route is preferred.
[[nodiscard]] std::vector<std::string> own_addresses();

/// No delay, and an end once the peer has acknowledged nothing for five seconds: an agent then
/// connects anew rather than wait for a repeat that comes ever later.
void prepare_socket(int socket);

}  // namespace osora::daemon
