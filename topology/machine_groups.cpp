// Groups a fleet into kinds of machines without comparing each pair.
#include "topology/machine_diff.hpp"

#include <algorithm>
#include <functional>

namespace osora::topology {
namespace {

/// `machine` without its individual properties, so that equal machines compare equal directly.
Machine common_part(Machine machine) {
    machine.name.clear();
    machine.source.clear();
    for (MachineGpu& gpu : machine.gpus) {
        gpu.uuid.clear();
        if (!gpu.nvl_domain.empty()) gpu.nvl_domain = "yes";
    }
    std::erase_if(machine.nics, [](Nic const& nic) { return !is_compared(nic); });
    for (Nic& nic : machine.nics) {
        nic.addresses.clear();
        for (Gid& gid : nic.gids) {
            gid.value = gid.value.find(":ffff:") != std::string::npos ? ":ffff:" : "";
        }
    }
    return machine;
}

}  // namespace

std::vector<MachineGroup> group_machines(std::vector<Machine> const& machines) {
    constexpr std::size_t kKindsMax = 64;
    std::vector<MachineGroup> groups;
    std::vector<Machine> kinds;  // by group, the common part of its first machine
    for (std::size_t i = 0; i < machines.size(); ++i) {
        Machine const common = common_part(machines[i]);
        auto const same = std::ranges::find_if(kinds, [&](Machine const& kind) {
            return kind == common ||
                   (kinds.size() < kKindsMax && diff_machines(kind, common).empty());
        });
        auto const at = static_cast<std::size_t>(same - kinds.begin());
        if (same == kinds.end()) {
            groups.emplace_back();
            kinds.push_back(common);
        }
        groups[at].members.push_back(i);
    }
    std::ranges::stable_sort(groups, std::greater(),
                             [](MachineGroup const& group) { return group.members.size(); });
    for (std::size_t i = 1; i < groups.size(); ++i) {
        groups[i].differences =
            diff_machines(machines[groups[0].members.front()], machines[groups[i].members.front()]);
    }
    // Beyond the limit, a machine may still equal the reference.
    for (std::size_t i = groups.size(); i-- > 1;) {
        if (!groups[i].differences.empty()) continue;
        auto& members = groups[0].members;
        members.insert(members.end(), groups[i].members.begin(), groups[i].members.end());
        std::ranges::sort(members);
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return groups;
}

}  // namespace osora::topology
