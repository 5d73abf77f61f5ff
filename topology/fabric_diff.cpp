#include "topology/fabric_diff.hpp"

#include <map>

namespace osora::topology {
namespace {

/// For a node with several leaves, all of them: "l1,l2".
std::map<std::string, std::string> leaves_of(Fabric const& fabric) {
    std::map<std::string, std::string> leaves;
    for (Switch const& each : fabric.switches) {
        for (std::string const& node : each.nodes) {
            std::string& names = leaves[node];
            names += (names.empty() ? "" : ",") + each.name;
        }
    }
    return leaves;
}

}  // namespace

std::vector<Difference> diff_fabrics(Fabric const& reference, Fabric const& other) {
    std::vector<Difference> differences;
    if (reference.switches.empty() || other.switches.empty()) return differences;
    auto const ours = leaves_of(reference);
    auto const theirs = leaves_of(other);
    for (auto const& [node, leaf] : ours) {
        auto const now = theirs.find(node);
        if (now == theirs.end()) {
            differences.push_back({"node." + node + ".leaf", leaf, "missing", "", true});
        } else if (now->second != leaf) {
            differences.push_back({"node." + node + ".leaf", leaf, now->second,
                                   "ranks placed by leaf are placed wrongly", true});
        }
    }
    for (auto const& [node, leaf] : theirs) {
        if (!ours.contains(node)) {
            differences.push_back({"node." + node + ".leaf", "missing", leaf, "", false});
        }
    }
    return differences;
}

}  // namespace osora::topology
