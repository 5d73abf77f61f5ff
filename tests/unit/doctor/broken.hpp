// One thing broken in a healthy cluster, and which rule must say so.
#pragma once

#include "topology/doctor/evidence.hpp"
#include "topology/doctor/finding.hpp"

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace osora::tests {

struct BrokenCase {
    std::string_view rule;
    topology::doctor::Severity severity = topology::doctor::Severity::fault;
    std::string kind;   // of the cluster
    std::string where;  // that is named
    std::string says;   // in title or evidence
    void (*damage)(topology::doctor::Evidence& evidence) = nullptr;
    std::vector<std::string_view> also = {};  // rules that see the same from their side
    int nodes = 4;
    bool probed = false;
};
inline std::ostream& operator<<(std::ostream& out, BrokenCase const& broken) {
    return out << broken.rule;
}

/// Those of machines, of settings and versions, of logs, probes and runs; and all.
[[nodiscard]] std::vector<BrokenCase> broken_nodes();
[[nodiscard]] std::vector<BrokenCase> broken_settings();
[[nodiscard]] std::vector<BrokenCase> broken_fabric();
[[nodiscard]] std::vector<BrokenCase> broken_cases();

}  // namespace osora::tests
