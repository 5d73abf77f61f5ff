// Where the nodes of a run were when its last controller ended. Pure.
#pragma once

#include "plan/config/ssh_hosts.hpp"

#include <string>
#include <vector>

namespace osora::daemon {

/// `hosts` (of node 0, 1..., then the spares) with each node on the host that it had: `last` has
/// the name that node n's host gave itself, "" for none. A node whose host is not among `hosts`
/// under that name, such as one with a numeric address, keeps its place.
[[nodiscard]] std::vector<plan::SshHost> hosts_as_before(std::vector<plan::SshHost> hosts,
                                                         std::vector<std::string> const& last);

}  // namespace osora::daemon
