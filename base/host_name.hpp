// The name of this machine.
#pragma once

#include "base/environment.hpp"

#include <string>

namespace osora {

/// gethostname(2).
[[nodiscard]] std::string host_name();

/// The scheduler's name for this node, which plans use as well: SLURMD_NODENAME, else host_name().
[[nodiscard]] std::string node_name(Environment const& environment);

}  // namespace osora
