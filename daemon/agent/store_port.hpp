// The port on which the ranks of an attempt meet: bound and listening before any rank starts, and
// passed to rank 0 as an open socket, so that no other process can take it in between.
#pragma once

#include "base/files/descriptor.hpp"
#include "base/result.hpp"

#include <string>

namespace osora::daemon {

struct StorePort {
    Descriptor socket;  // listening
    int port = 0;
};

/// Binds a free port of `host` (an IPv4 address). busy: no port is free.
[[nodiscard]] Result<StorePort> bind_store_port(std::string const& host);

}  // namespace osora::daemon
