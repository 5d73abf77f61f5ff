// What this machine is called.
#pragma once

#include "base/environment.hpp"

#include <string>

namespace osora {

/// gethostname(2).
[[nodiscard]] std::string host_name();

/// As the scheduler calls this node and so plans: SLURMD_NODENAME, else host_name().
[[nodiscard]] std::string node_name(Environment const& environment);

}  // namespace osora
