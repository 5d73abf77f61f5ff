// One thing broken in a healthy cluster, and which rule must say so.
#pragma once

#include "topology/doctor/evidence.hpp"
#include "topology/doctor/finding.hpp"

#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace osora::tests {

constexpr auto kWarning = topology::doctor::Severity::warning;
constexpr auto kInfo = topology::doctor::Severity::info;

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

/// What damages change: a node of the cluster, and its settings.
[[nodiscard]] inline topology::doctor::NodeEvidence& node(topology::doctor::Evidence& evidence,
                                                          std::size_t index = 2) {
    return evidence.nodes.at(index);
}
inline void set(topology::doctor::NodeEvidence& node, std::string name, std::string value,
                std::string origin = "environment") {
    node.settings.push_back(
        {.name = std::move(name), .value = std::move(value), .origin = std::move(origin)});
}
inline void set_all(topology::doctor::Evidence& evidence, std::string const& name,
                    std::string const& value, std::string const& origin = "environment") {
    for (auto& each : evidence.nodes) set(each, name, value, origin);
}

/// Those of machines, of settings and versions, of logs, probes and runs; and all.
[[nodiscard]] std::vector<BrokenCase> broken_nodes();
[[nodiscard]] std::vector<BrokenCase> broken_settings();
[[nodiscard]] std::vector<BrokenCase> broken_fabric();
[[nodiscard]] std::vector<BrokenCase> broken_cases();

}  // namespace osora::tests
