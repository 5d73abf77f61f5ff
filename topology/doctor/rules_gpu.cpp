// Rules about the path between GPUs and NICs: rows 3, 4, 5, 12.
#include "topology/device_path.hpp"
#include "topology/doctor/rules_internal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace osora::topology::doctor {
namespace {

bool gpus_beside_rdma(NodeEvidence const& node) {
    return can_do_gdr(node) && !rdma_up(node).empty();
}

bool any_gdr(Evidence const& evidence) {
    return std::ranges::any_of(evidence.nodes, gpus_beside_rdma);
}

/// GPU memory served by the CPU's memory controller: Grace reaches it over C2C.
bool is_grace(NodeEvidence const& node) {
    return node.machine && node.machine->cpu_arch == "arm64";
}

/// On hardware every device is below a root port; in a virtual machine it may be below nothing.
bool has_bridges(NodeEvidence const& node, MachineGpu const& gpu) {
    auto const found = std::ranges::find(node.machine->pci, gpu.address, &PciDevice::address);
    return found != node.machine->pci.end() && !found->parent.empty();
}

/// Why GPUDirect RDMA cannot work; "" if it can, or if that is unknown.
std::string gdr_fault(NodeEvidence const& node) {
    if (node.log.via_ib > 0 && node.log.via_gdr == 0) {
        return fmt::format("log: {} channels via NET/IB, none with GDRDMA", node.log.via_ib);
    }
    if (node.log.gdr_disabled_for_hca && node.log.via_gdr == 0) {
        return "log: GPU Direct RDMA Disabled for HCA";
    }
    if (node.log.via_gdr > 0 || !node.modules || node.open_driver || node.memory_peers) return {};
    for (char const* module : {"nvidia_peermem", "nv_peer_mem", "efa"}) {
        if (node.modules->contains(module)) return {};  // an old NCCL says so in its log
    }
    if (!node.modules->contains("nvidia")) return {};  // a container's view, or no driver
    return "nvidia_peermem is not loaded, the driver has no dma-buf";
}

/// NCCL up to 2.22 looks for nv_peer_mem alone (sys/kernel/mm/memory_peers/nv_mem), 2.23.4 for
/// nvidia_peermem, too: nccl#1676.
constexpr char const* kKnowsPeermem = "2.23.4";

bool has_module(NodeEvidence const& node, char const* name) {
    return node.modules && node.modules->contains(name);
}

bool knows_no_peermem(NodeEvidence const& node) {
    auto const version = version_of(node, "nccl");
    return has_module(node, "nvidia_peermem") && !node.memory_peers && !version.empty() &&
           compare_versions(version, kKnowsPeermem) < 0;
}

/// The fix, depending on the loaded modules.
Finding gdr_finding(NodeEvidence const& node, std::string seen) {
    Finding finding{
        .severity = Severity::fault,
        .nodes = {node.name},
        .title = "No GPUDirect RDMA",
        .seen = std::move(seen),
        .effect = "data goes through host memory: 30 of 100 GB/s; one such node slows all",
        .fix = "modprobe nvidia_peermem (and load it at boot), or the open driver with dma-buf",
        .impact = 0.7};
    if (knows_no_peermem(node)) {
        finding.title = fmt::format(
            "No GPUDirect RDMA: nvidia_peermem is loaded, and NCCL {} does not look for it",
            version_of(node, "nccl"));
        finding.fix = fmt::format(
            "NCCL {} or later, or NVIDIA's open kernel modules (dma-buf); loading the module "
            "again does not help",
            kKnowsPeermem);
        finding.threads = {"nccl#1676"};
    } else if (has_module(node, "nvidia_peermem") || has_module(node, "nv_peer_mem")) {
        finding.title = "No GPUDirect RDMA although its kernel module is loaded";
        finding.fix =
            "look at NCCL_NET_GDR_LEVEL and NCCL_IB_DISABLE; in a container /sys must show the "
            "host's modules; load the module again after an upgrade of the RDMA driver";
    } else if (node.open_driver) {
        finding.title = "No GPUDirect RDMA although the driver has dma-buf";
        finding.fix =
            "take NCCL 2.13 or later and Linux 5.12 or later, leave NCCL_DMABUF_ENABLE at 1; or "
            "modprobe nvidia_peermem";
    }
    return finding;
}

/// A log without the machine's files: GPUs that do not support it log the same lines.
void check_logged_gdr(NodeEvidence const& node, Outcome& outcome) {
    auto const& log = node.log;
    bool const says = log.gdr_disabled_for_hca && log.gdr_distance.empty();
    if (node.machine || !says || log.via_gdr > 0 || log.via_ib == 0) return;
    auto finding = gdr_finding(node, fmt::format("log: GPU Direct RDMA Disabled for HCA; {} "
                                                 "channels via NET/IB, none with GDRDMA",
                                                 log.via_ib));
    finding.severity = Severity::warning;
    auto const version = version_of(node, "nccl");
    if (!version.empty() && compare_versions(version, kKnowsPeermem) < 0) {
        finding.fix = fmt::format(
            "lsmod: without nvidia_peermem load it; with it take NCCL {} or later, as {} looks for "
            "nv_peer_mem alone. GeForce GPUs cannot do it",
            kKnowsPeermem, version);
    }
    outcome.findings.push_back(std::move(finding));
}

}  // namespace

Outcome check_gdr(Evidence const& evidence) {
    bool const logged = std::ranges::any_of(
        evidence.nodes, [](NodeEvidence const& node) { return node.log.gdr_disabled_for_hca; });
    if (!any_gdr(evidence) && !logged) return skip("no GPU with an RDMA NIC");
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        check_logged_gdr(node, outcome);
        if (!gpus_beside_rdma(node)) continue;
        auto const fault = gdr_fault(node);
        // Distance has a separate rule.
        if (fault.empty() || !node.log.gdr_distance.empty()) continue;
        outcome.findings.push_back(gdr_finding(node, fault + bandwidth_note(evidence, node.name)));
    }
    return outcome;
}

namespace {

/// With a log alone: NCCL says the distance of every pair, and only matters when no channel has
/// GPUDirect.
bool refuses_gdr(NodeEvidence const& node) {
    auto const& log = node.log;
    return !node.machine && !log.gdr_distance.empty() && log.via_ib > 0 && log.via_gdr == 0;
}

Finding distance_finding(NodeEvidence const& node, std::string seen) {
    return {.severity = Severity::warning,
            .nodes = {node.name},
            .title = "NCCL refuses GPUDirect RDMA: NIC and GPU are too far apart",
            .seen = std::move(seen),
            .effect = "data goes through host memory (1.1 GB/s was seen)",
            .fix =
                "try --set nccl.NCCL_NET_GDR_LEVEL=PHB (osora tune --nccl: across the CPU it may "
                "hurt), or move the NIC below the GPUs' switch; a virtual machine needs "
                "NCCL_TOPO_FILE",
            .impact = 0.5};
}

}  // namespace

Outcome check_gdr_distance(Evidence const& evidence) {
    bool const logged = std::ranges::any_of(evidence.nodes, refuses_gdr);
    if (!any_gdr(evidence) && !logged) return skip("no GPU with an RDMA NIC");
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        if (refuses_gdr(node)) {
            outcome.findings.push_back(distance_finding(node, "log: " + node.log.gdr_distance));
        }
        if (!gpus_beside_rdma(node)) continue;
        bool near = false;
        int known = 0;
        std::string example;
        for (auto const& gpu : node.machine->gpus) {
            for (auto const* nic : rdma_up(node)) {
                auto const path = pci_path(*node.machine, gpu.address, nic->address);
                bool const decides = path.kind != PathKind::unknown && has_bridges(node, gpu);
                if (!decides || nic->kind == NicKind::efa) continue;  // its plug-in has a file
                ++known;
                near = near || path.kind == PathKind::pix || path.kind == PathKind::pxb;
                if (example.empty()) {
                    example = fmt::format("{} and the first GPU: {}", nic->device, path_word(path));
                }
            }
        }
        auto const* level = setting(node, "NCCL_NET_GDR_LEVEL");
        bool const far = known > 0 && !near && !node.is_virtual && !is_grace(node);
        bool const allowed = level != nullptr && (level->value == "PHB" || level->value == "SYS");
        if (node.log.gdr_distance.empty() && (!far || allowed)) continue;
        outcome.findings.push_back(distance_finding(
            node, node.log.gdr_distance.empty() ? example : "log: " + node.log.gdr_distance));
    }
    return outcome;
}

namespace {

/// Bridges with ACS on above a GPU or RDMA NIC: those of switches, and root ports.
struct AcsBridges {
    std::vector<std::string> switches, roots;
};

AcsBridges acs_bridges(Machine const& machine) {
    AcsBridges found;
    std::set<std::string> above;  // some GPU or NIC
    std::vector<std::string> devices;
    for (auto const& gpu : machine.gpus) devices.push_back(gpu.address);
    for (auto const& nic : machine.nics) {
        if (is_rdma(nic)) devices.push_back(nic.address);
    }
    bool tree = false;
    for (auto const& address : devices) {
        auto at = std::ranges::find(machine.pci, address, &PciDevice::address);
        for (int depth = 0; at != machine.pci.end() && !at->parent.empty() && depth < 64; ++depth) {
            tree = true;
            above.insert(at->parent);
            at = std::ranges::find(machine.pci, at->parent, &PciDevice::address);
        }
    }
    for (auto const& each : machine.pci) {
        if (each.acs != "on" || (tree && !above.contains(each.address))) continue;
        (tree && each.parent.empty() ? found.roots : found.switches).push_back(each.address);
    }
    return found;
}

}  // namespace

Outcome check_acs(Evidence const& evidence) {
    bool known = false;
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        if (!has_gpus(node)) continue;
        known = known || std::ranges::any_of(node.machine->pci,
                                             [](auto const& each) { return !each.acs.empty(); });
        if (node.is_virtual) continue;  // there it must be on, with ATS
        auto const bridges = acs_bridges(*node.machine);
        auto const& list = bridges.switches.empty() ? bridges.roots : bridges.switches;
        if (list.empty()) continue;
        bool const fault = !bridges.switches.empty();
        outcome.findings.push_back(
            {.severity = fault ? Severity::fault : Severity::info,
             .nodes = {node.name},
             .title = fault ? "ACS is on in PCIe switches above GPUs or NICs"
                            : "ACS is on in root ports above GPUs or NICs",
             .seen = fmt::format("ACSCtl SrcValid+ on {} bridges, first {}", list.size(), list[0]),
             .effect = fault ? "transfers between GPUs and NICs go up to the CPU and back: half "
                               "the speed, or a hang"
                             : "none where a switch joins GPU and NIC",
             .fix = fault ? fmt::format("turn it off: setpci -s {} ECAP_ACS+0x6.w=0000 for each "
                                        "(after every boot), or in the BIOS",
                                        list[0])
                          : "",
             .impact = fault ? 0.5 : 0});
    }
    if (!known) return skip("ACS not known (lspci -vvv as root)");
    return outcome;
}

namespace {

/// "PIX 8, SYS 56; 8 of 8 GPUs beside a NIC" for a machine: the input of NCCL's search.
std::string shape_of(Machine const& machine) {
    std::map<std::string, int> counts;
    int beside = 0;
    for (auto const& gpu : machine.gpus) {
        bool near = false;
        for (auto const& nic : machine.nics) {
            if (!is_rdma(nic) || nic.address.empty()) continue;
            auto const path = pci_path(machine, gpu.address, nic.address);
            near = near || path.kind == PathKind::pix || path.kind == PathKind::pxb;
            ++counts[path_word(path)];
        }
        beside += near;
    }
    std::vector<std::string> parts;
    for (auto const& [word, count] : counts) parts.push_back(fmt::format("{} {}", word, count));
    return fmt::format("{}; {} of {} GPUs beside a NIC", fmt::join(parts, ", "), beside,
                       machine.gpus.size());
}

bool same_devices(Machine const& machine, std::size_t gpus, std::size_t nics) {
    auto const rdma = std::ranges::count_if(machine.nics, is_rdma);
    return machine.gpus.size() == gpus && static_cast<std::size_t>(rdma) == nics;
}

void check_virtual(NodeEvidence const& node, Outcome& outcome) {
    bool const asks = node.is_virtual && can_do_gdr(node) && node.machine->gpus.size() > 1;
    if (!asks || node.virtual_topology || setting(node, "NCCL_TOPO_FILE") != nullptr) return;
    bool const plain = std::ranges::any_of(
        rdma_up(node), [](Nic const* each) { return each->kind != NicKind::efa; });
    bool near = false;
    for (auto const& gpu : node.machine->gpus) {
        for (auto const* nic : rdma_up(node)) {
            auto const kind = pci_path(*node.machine, gpu.address, nic->address).kind;
            near = near || kind == PathKind::pix || kind == PathKind::pxb;
        }
    }
    if (!plain || near) return;
    outcome.findings.push_back(
        {.severity = Severity::warning,
         .nodes = {node.name},
         .title = "A virtual machine without a topology file for NCCL",
         .seen = "no GPU shares a PCIe switch with a NIC; NCCL_TOPO_FILE is not set",
         .effect = "NCCL pairs GPUs with far NICs: 365 -> 41 GB/s was seen",
         .fix = "--set nccl.NCCL_TOPO_FILE=FILE with the cloud's file for this machine type",
         .impact = 0.8});
}

}  // namespace

Outcome check_topology(Evidence const& evidence) {
    std::vector<std::string> shapes;
    std::vector<std::size_t> gpus, nics;
    for (auto const& node : evidence.nodes) {
        if (!has_gpus(node)) continue;
        gpus.push_back(node.machine->gpus.size());
        nics.push_back(
            static_cast<std::size_t>(std::ranges::count_if(node.machine->nics, is_rdma)));
        shapes.push_back(shape_of(*node.machine));
    }
    if (shapes.empty()) return skip("no GPU");
    Outcome outcome;
    auto const usual = majority(shapes);
    auto const usual_gpus = majority(gpus), usual_nics = majority(nics);
    for (auto const& node : evidence.nodes) {
        if (!has_gpus(node)) continue;
        check_virtual(node, outcome);
        if (!usual || !usual_gpus || !usual_nics) continue;
        // A missing card has a separate rule.
        if (!same_devices(*node.machine, *usual_gpus, *usual_nics)) continue;
        auto const shape = shape_of(*node.machine);
        if (shape == *usual) continue;
        outcome.findings.push_back(
            {.severity = Severity::warning,
             .nodes = {node.name},
             .title = "GPUs and NICs are joined otherwise than on most nodes",
             .seen = fmt::format("GPU-NIC paths {}; most have {}", shape, *usual),
             .effect = "NCCL takes the worst path of all ranks for every node",
             .fix =
                 "osora topology diff names the devices; use one NCCL_TOPO_FILE, or exclude it " +
                 std::string(kExclude),
             .impact = 0.4});
    }
    return outcome;
}

}  // namespace osora::topology::doctor
