// The nodes that a setting of a plan is for. Pure; for the agents, which do not link the planner.
#pragma once

#include "base/host_name.hpp"
#include "plan/decision.hpp"

#include <string>
#include <string_view>

namespace osora::plan {

/// Whether ranks on `node` get the setting; "n1" and "n1.cluster" are the same node.
[[nodiscard]] inline bool applies_to(NcclSetting const& setting, std::string_view node) {
    return setting.nodes.empty() || names_host(setting.nodes, node);
}

}  // namespace osora::plan
