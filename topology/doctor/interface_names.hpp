// Private to the rules about interfaces: which lead to no other node, and what logs say of them.
#pragma once

#include "topology/doctor/rule.hpp"

#include <string>
#include <string_view>

namespace osora::topology::doctor {

/// Between containers or virtual machines of one host ("veth75fa783", "docker0", "br-3f2a"): no way
/// to another node.
[[nodiscard]] bool is_host_internal(std::string_view interface);

/// The interface that a node's log names beside those that lead nowhere, else the one that most
/// other nodes' logs name; "" = none.
[[nodiscard]] std::string logged_interface(Evidence const& evidence, NodeEvidence const& node);

/// Faults for interfaces that NCCL's log says it took and that lead to no other node. `best`: what
/// to take in their place; "" = not known.
void check_logged_interfaces(Evidence const& evidence, NodeEvidence const& node,
                             std::string const& best, Outcome& outcome);

/// Faults for connections that the logs say failed, where no interface explains them.
void check_connections(Evidence const& evidence, Outcome& outcome);

}  // namespace osora::topology::doctor
