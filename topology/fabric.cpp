#include "topology/fabric.hpp"

#include <algorithm>

namespace osora::topology {

std::vector<std::string> switches_above(Fabric const& fabric, std::string const& node) {
    auto at = std::ranges::find_if(fabric.switches, [&](Switch const& each) {
        return std::ranges::find(each.nodes, node) != each.nodes.end();
    });
    std::vector<std::string> names;
    while (at != fabric.switches.end()) {
        if (std::ranges::find(names, at->name) != names.end()) break;
        names.push_back(at->name);
        if (at->parents.empty()) break;
        at = std::ranges::find(fabric.switches, at->parents.front(), &Switch::name);
    }
    return names;
}

}  // namespace osora::topology
