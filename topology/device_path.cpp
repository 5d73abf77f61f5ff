// A PCIe switch is an upstream port with downstream ports below it, so from a device to its switch
// are two steps of the tree. NCCL's files have one entry per switch: their machines have hosts
// "cpu0", "cpu1" (topology/sources/nccl_xml.hpp), where one step is a whole switch.
#include "topology/device_path.hpp"

#include <algorithm>
#include <optional>

namespace osora::topology {
namespace {

constexpr std::size_t kBridgesMax = 64;

PciDevice const* device_at(Machine const& machine, std::string const& address) {
    // The reader and the parsers sort the list by address; other callers may not.
    auto const by_address = [](PciDevice const& each) -> std::string const& {
        return each.address;
    };
    auto const found = std::ranges::lower_bound(machine.pci, address, {}, by_address);
    if (found != machine.pci.end() && found->address == address) return &*found;
    auto const slow = std::ranges::find(machine.pci, address, by_address);
    return slow != machine.pci.end() ? &*slow : nullptr;
}

/// Addresses from a device's parent upwards; ends at a loop.
std::vector<std::string> bridges_above(Machine const& machine, PciDevice const* device) {
    std::vector<std::string> bridges;
    while (device != nullptr && !device->parent.empty() && bridges.size() < kBridgesMax) {
        bridges.push_back(device->parent);
        device = device_at(machine, device->parent);
    }
    return bridges;
}

MachineGpu const* gpu_at(Machine const& machine, std::string const& address) {
    auto const found = std::ranges::find(machine.gpus, address, &MachineGpu::address);
    return found != machine.gpus.end() ? &*found : nullptr;
}

int links_to(MachineGpu const& gpu, std::string const& peer) {
    int links = 0;
    for (NvlinkPeer const& each : gpu.nvlinks) {
        if (each.address == peer) links += each.links;
    }
    return links;
}

/// Where the vendor is not known it is taken for NVIDIA's.
bool is_of_nvidia(Machine const& machine, std::string const& address) {
    PciDevice const* const device = device_at(machine, address);
    return device == nullptr || device->vendor.empty() || device->vendor == "0x10de" ||
           device->vendor == "0xffff";
}

int numa_of(Machine const& machine, std::string const& address, PciDevice const* device) {
    if (device != nullptr && device->numa >= 0) return device->numa;
    if (MachineGpu const* gpu = gpu_at(machine, address)) return gpu->numa;
    auto const nic = std::ranges::find(machine.nics, address, &Nic::address);
    return nic != machine.nics.end() ? nic->numa : -1;
}

/// Below one bridge: steps from either device to the first that they share.
std::optional<PathKind> over_switches(Machine const& machine, PciDevice const& a,
                                      PciDevice const& b) {
    auto const left = bridges_above(machine, &a);
    auto const right = bridges_above(machine, &b);
    for (std::size_t i = 0; i < left.size(); ++i) {
        auto const shared = std::ranges::find(right, left[i]);
        if (shared == right.end()) continue;
        auto const steps =
            std::max<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(i), shared - right.begin());
        std::ptrdiff_t const steps_of_a_switch = a.host.starts_with("cpu") ? 0 : 1;
        return steps <= steps_of_a_switch ? PathKind::pix : PathKind::pxb;
    }
    return {};
}

}  // namespace

std::string path_word(DevicePath path) {
    switch (path.kind) {
        case PathKind::self:
            return "X";
        case PathKind::nvlink:
            return "NV" + std::to_string(path.nvlinks);
        case PathKind::xgmi:
            return "XGMI";
        case PathKind::pix:
            return "PIX";
        case PathKind::pxb:
            return "PXB";
        case PathKind::phb:
            return "PHB";
        case PathKind::node:
            return "NODE";
        case PathKind::sys:
            return "SYS";
        case PathKind::unknown:
            break;
    }
    return "?";
}

DevicePath pci_path(Machine const& machine, std::string const& a, std::string const& b) {
    if (a == b && !a.empty()) return {PathKind::self};
    PciDevice const* const left = device_at(machine, a);
    PciDevice const* const right = device_at(machine, b);
    if (left != nullptr && right != nullptr) {
        if (auto const near = over_switches(machine, *left, *right)) return {*near};
    }
    int const numa_a = numa_of(machine, a, left);
    int const numa_b = numa_of(machine, b, right);
    bool const one_node = machine.numa.size() == 1 || (numa_a >= 0 && numa_a == numa_b);
    if (!one_node) {
        bool const known = numa_a >= 0 && numa_b >= 0;
        if (known) return {PathKind::sys};
    }
    bool const hosts =
        left != nullptr && right != nullptr && !left->host.empty() && !right->host.empty();
    if (hosts && left->host == right->host) return {PathKind::phb};
    return {one_node && hosts ? PathKind::node : PathKind::unknown};
}

DevicePath device_path(Machine const& machine, std::string const& a, std::string const& b) {
    MachineGpu const* const left = gpu_at(machine, a);
    MachineGpu const* const right = gpu_at(machine, b);
    if (a != b && left != nullptr && right != nullptr) {
        int links = std::max(links_to(*left, b), links_to(*right, a));
        if (links == 0) links = std::min(links_to(*left, "switch"), links_to(*right, "switch"));
        if (links > 0) return {is_of_nvidia(machine, a) ? PathKind::nvlink : PathKind::xgmi, links};
    }
    return pci_path(machine, a, b);
}

std::vector<std::string> switches_over(Machine const& machine, std::string const& address) {
    PciDevice const* const device = device_at(machine, address);
    auto bridges = bridges_above(machine, device);
    if (device == nullptr || device->host.starts_with("cpu")) return bridges;
    std::vector<std::string> switches;
    // The topmost is the root port; below it, each switch has an upstream and a downstream port.
    for (std::size_t i = 1; i + 1 < bridges.size(); i += 2) switches.push_back(bridges[i]);
    return switches;
}

PathMatrix path_matrix(Machine const& machine) {
    PathMatrix matrix;
    for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
        auto const& gpu = machine.gpus[i];
        matrix.devices.push_back({"GPU" + std::to_string(i), gpu.address, gpu.numa});
    }
    for (Nic const& nic : machine.nics) {
        if (nic.address.empty()) continue;
        matrix.devices.push_back(
            {nic.device.empty() ? nic.interface : nic.device, nic.address, nic.numa});
    }
    for (MatrixDevice const& row : matrix.devices) {
        auto& paths = matrix.paths.emplace_back();
        for (MatrixDevice const& column : matrix.devices) {
            bool const same = row.label == column.label;
            paths.push_back(same ? DevicePath{PathKind::self}
                                 : device_path(machine, row.address, column.address));
            // Two ports of one function.
            if (!same && paths.back().kind == PathKind::self) paths.back().kind = PathKind::pix;
        }
    }
    return matrix;
}

}  // namespace osora::topology
