// Private to the rules about links: ports that went down in a run, and the consequences on other
// nodes.
#pragma once

#include "topology/doctor/rule.hpp"

namespace osora::topology::doctor {

/// A fault for each node whose port or RDMA device stopped. If there is one, peers that no longer
/// answered (status 12) are secondary failures, reported as a note; else a fault that names both
/// ends.
void check_lost_peers(Evidence const& evidence, Outcome& outcome);

}  // namespace osora::topology::doctor
