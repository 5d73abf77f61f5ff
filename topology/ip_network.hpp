// The network of an interface's address. Pure.
#pragma once

#include <string>

namespace osora::topology {

/// "10.0.4.7/22" -> "10.0.4.0/22", "fd00::7/64" -> "fd00::/64"; "" if it is not an address in a
/// network between nodes (loopback, link-local, garbage).
[[nodiscard]] std::string network_of(std::string const& address);

}  // namespace osora::topology
