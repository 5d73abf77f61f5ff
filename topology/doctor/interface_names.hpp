// Private to the rules about interfaces: which ones lead to no other node, and what logs say about
// them.
#pragma once

#include "topology/doctor/rule.hpp"

#include <string>
#include <string_view>

namespace osora::topology::doctor {

/// An interface between containers or virtual machines of one host ("veth75fa783", "docker0",
/// "br-3f2a"): it leads to no other node.
[[nodiscard]] bool is_host_internal(std::string_view interface);

/// Of the interfaces in a node's log, one that can lead to other nodes; else the one that most
/// other nodes' logs name; "" = none.
[[nodiscard]] std::string logged_interface(Evidence const& evidence, NodeEvidence const& node);

/// Whether NCCL met without an address of its own: NCCL_SOCKET_IFNAME names no interface of the
/// node, which NCCL 2.27 does not say.
[[nodiscard]] bool lacks_set_interface(NodeEvidence const& node);

/// Faults for interfaces that NCCL chose according to its log and that lead to no other node.
/// `best`: the interface to use instead; "" = unknown.
void check_logged_interfaces(Evidence const& evidence, NodeEvidence const& node,
                             std::string const& best, Outcome& outcome);

/// Faults for failed connections in the logs that no interface explains.
void check_connections(Evidence const& evidence, Outcome& outcome);

}  // namespace osora::topology::doctor
