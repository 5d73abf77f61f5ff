// Rate, link layer and distance to the GPUs distinguish a compute card from the others.
#include "plan/nccl/hca_choice.hpp"

#include "plan/few_names.hpp"
#include "topology/ip_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace osora::plan {
namespace {

using topology::Machine;
using topology::Nic;
using topology::NicKind;

constexpr std::size_t kDevicesMax = 32;  // limit of NCCL

using Nics = std::vector<Nic const*>;

double rate_of(Nic const& nic) {
    return std::isfinite(nic.rate_gbit) && nic.rate_gbit > 0 ? nic.rate_gbit : 0;
}

/// Moves devices that do not satisfy `keep` to the node's `left_out`, with the reason.
template <class Keep, class Why>
void leave_out(Nics& nics, NodeHcas& node, Keep keep, Why why) {
    std::erase_if(nics, [&](Nic const* each) {
        if (keep(*each)) return false;
        node.left_out.push_back(fmt::format("{} ({})", each->device, why(*each)));
        return true;
    });
}

/// Addresses of the bridges above a device, bottom up.
std::vector<std::string> bridges_above(Machine const& machine, std::string const& address) {
    constexpr std::size_t kDepthMax = 32;  // guard against a loop in a recorded tree
    std::vector<std::string> bridges;
    std::string at = address;
    while (bridges.size() < kDepthMax) {
        auto const found = std::ranges::find(machine.pci, at, &topology::PciDevice::address);
        if (found == machine.pci.end() || found->parent.empty()) break;
        at = found->parent;
        bridges.push_back(at);
    }
    return bridges;
}

std::optional<int> gid_of(Nic const& nic) {
    for (auto const& gid : nic.gids) {
        bool const mapped = gid.value.starts_with("0000:0000:0000:0000:0000:ffff:");
        if (gid.type == "RoCE v2" && mapped) return gid.index;
    }
    return std::nullopt;
}

std::optional<int> common_gid(Nics const& nics) {
    std::optional<int> common;
    for (Nic const* each : nics) {
        auto const gid = gid_of(*each);
        if (!gid || (common && *common != *gid)) return std::nullopt;
        common = gid;
    }
    return common;
}

/// The devices below the same PCIe switch as some GPU.
struct Nearness {
    bool every_gpu = false;
    std::set<Nic const*> near;
};

Nearness nearness_of(Machine const& machine, Nics const& nics) {
    Nearness found;
    std::vector<std::vector<std::string>> above_nics;
    for (Nic const* nic : nics) above_nics.push_back(bridges_above(machine, nic->address));
    std::size_t served = 0;
    for (auto const& gpu : machine.gpus) {
        auto const above = bridges_above(machine, gpu.address);
        std::set<std::string> const bridges(above.begin(), above.end());
        bool any = false;
        for (std::size_t i = 0; i < nics.size(); ++i) {
            bool const near = std::ranges::any_of(
                above_nics[i], [&](std::string const& bridge) { return bridges.contains(bridge); });
            if (near) found.near.insert(nics[i]);
            any = any || near;
        }
        if (any) ++served;
    }
    found.every_gpu = !machine.gpus.empty() && served == machine.gpus.size();
    return found;
}

NodeHcas choose(Machine const& machine, Nics nics) {
    NodeHcas node;
    node.node = machine.name;
    double infiniband = 0, roce = 0;
    for (Nic const* each : nics) {
        (each->kind == NicKind::infiniband ? infiniband : roce) += rate_of(*each);
    }
    bool const any_infiniband = std::ranges::any_of(
        nics, [](Nic const* each) { return each->kind == NicKind::infiniband; });
    node.kind = any_infiniband && infiniband >= roce ? NicKind::infiniband : NicKind::roce;
    leave_out(
        nics, node, [&](Nic const& each) { return each.kind == node.kind; },
        [&](Nic const&) {
            return node.kind == NicKind::infiniband ? "Ethernet" : "InfiniBand, slower in sum";
        });
    double top = 0;
    for (Nic const* each : nics) top = std::max(top, rate_of(*each));
    leave_out(
        nics, node, [&](Nic const& each) { return rate_of(each) >= top || rate_of(each) == 0; },
        [&](Nic const& each) { return fmt::format("{:g} of {:g} Gbit/s", rate_of(each), top); });
    auto const nearness = nearness_of(machine, nics);
    if (nearness.every_gpu) {
        leave_out(
            nics, node, [&](Nic const& each) { return nearness.near.contains(&each); },
            [](Nic const&) { return "near no GPU"; });
    }
    bool const placed = !machine.pci.empty() && !machine.gpus.empty();
    node.far_from_gpu = placed && !nearness.every_gpu;
    std::map<std::string, int> ports;
    for (Nic const& each : machine.nics) ++ports[each.device];
    for (Nic const* each : nics) {
        bool const several = ports[each->device] > 1;
        node.devices.push_back(several ? fmt::format("{}:{}", each->device, each->port)
                                       : each->device);
    }
    if (node.kind == NicKind::roce) node.gid_index = common_gid(nics);
    return node;
}

/// The networks of the chosen devices, if there are several and each is in a separate one.
std::set<std::string> rail_networks(Machine const& machine, NodeHcas const& node) {
    std::set<std::string> networks;
    for (Nic const& nic : machine.nics) {
        bool const chosen = std::ranges::find(node.devices, nic.device) != node.devices.end();
        if (!chosen) continue;
        for (std::string const& address : nic.addresses) {
            if (address.find(':') != std::string::npos) continue;
            if (auto network = topology::network_of(address); !network.empty()) {
                networks.insert(std::move(network));
                break;
            }
        }
    }
    if (node.devices.size() < 2 || networks.size() != node.devices.size()) return {};
    return networks;
}

void warn(HcaChoice& choice) {
    if (choice.nodes.empty()) return;
    if (!choice.without.empty()) {
        choice.warnings.push_back(
            "no RDMA device that is up, while other nodes have them, so that NCCL cannot use "
            "them: " +
            few_names(choice.without));
    }
    std::size_t most = 0;
    for (auto const& each : choice.nodes) most = std::max(most, each.devices.size());
    std::vector<std::string> fewer, mixed;
    for (auto const& each : choice.nodes) {
        if (each.devices.size() < most) {
            fewer.push_back(fmt::format("{} ({})", each.node, each.devices.size()));
        }
        if (each.kind != choice.nodes.front().kind) mixed.push_back(each.node);
    }
    if (!fewer.empty()) {
        choice.warnings.push_back(
            fmt::format("fewer RDMA devices than the {} of other nodes; the whole job runs at "
                        "their speed: {}",
                        most, few_names(fewer)));
    }
    if (!mixed.empty()) {
        choice.warnings.push_back("another link layer than " + choice.nodes.front().node + ": " +
                                  few_names(mixed));
    }
}

}  // namespace

HcaChoice choose_hcas(std::span<Machine const> machines) {
    HcaChoice choice;
    std::optional<std::set<std::string>> networks;
    choice.rails = true;
    for (Machine const& machine : machines) {
        Nics nics;
        for (Nic const& each : machine.nics) {
            bool const rdma = each.kind == NicKind::infiniband || each.kind == NicKind::roce;
            choice.efa = choice.efa || (each.up && each.kind == NicKind::efa);
            if (rdma && each.up && !each.device.empty()) nics.push_back(&each);
        }
        if (nics.empty()) {
            choice.without.push_back(machine.name);
            continue;
        }
        NodeHcas node = choose(machine, std::move(nics));
        if (node.devices.size() > kDevicesMax) {
            choice.warnings.push_back(fmt::format("{}: {} RDMA devices, NCCL takes the first {}",
                                                  node.node, node.devices.size(), kDevicesMax));
            node.devices.resize(kDevicesMax);
        }
        auto own = rail_networks(machine, node);
        choice.rails = choice.rails && !own.empty() && (!networks || *networks == own);
        networks = std::move(own);
        choice.nodes.push_back(std::move(node));
    }
    choice.rails = choice.rails && choice.nodes.size() > 1;
    warn(choice);
    return choice;
}

}  // namespace osora::plan
