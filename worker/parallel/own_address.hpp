// The address by which the other ranks reach this one.
#pragma once

#include "base/result.hpp"

#include <string>

namespace osora::worker {

/// The numeric address that this machine has on its route to `host` (a name or an address); nothing
/// is sent. unreachable: no such name, or no route.
[[nodiscard]] Result<std::string> address_towards(std::string const& host);

}  // namespace osora::worker
