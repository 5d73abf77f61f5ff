// The name of this machine, and names of one machine.
#pragma once

#include "base/environment.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora {

/// gethostname(2).
[[nodiscard]] std::string host_name();

/// The scheduler's name for this node, which plans use as well: SLURMD_NODENAME, else host_name().
[[nodiscard]] std::string node_name(Environment const& environment);

/// Whether both are names of one host: equal, or one is the other without its domain ("n1" and
/// "n1.cluster"). Two domains differ, an address has none, and "" is no name.
[[nodiscard]] bool is_same_host(std::string_view left, std::string_view right);

/// Whether one of `names` is the host's, in upper or lower case.
[[nodiscard]] bool names_host(std::vector<std::string> const& names, std::string_view host);

}  // namespace osora
