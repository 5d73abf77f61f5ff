#include "topology/sources/read_machine.hpp"

#include "topology/sources/sysfs_internal.hpp"

#include <algorithm>
#include <set>

namespace osora::topology {
namespace {

constexpr std::string_view kNvswitch = "0x0680", kNvidia = "0x10de";

/// Keeps GPUs, NICs, NVSwitches and every bridge above one of them; a server has hundreds of
/// others.
std::vector<PciDevice> devices_that_matter(std::filesystem::path const& root,
                                           std::map<std::string, PciDevice> const& pci,
                                           Machine const& machine) {
    std::set<std::string> wanted;
    for (MachineGpu const& gpu : machine.gpus) wanted.insert(gpu.address);
    for (Nic const& nic : machine.nics) wanted.insert(nic.address);
    for (auto const& [address, device] : pci) {
        bool const may_be = device.pci_class.starts_with(kNvswitch);
        if (!may_be) continue;
        PciDevice filled = device;
        sysfs::fill_pci_device(root, filled);
        if (filled.vendor == kNvidia) wanted.insert(address);
    }
    std::set<std::string> kept;
    for (std::string at : wanted) {
        // A loop of parents in a damaged tree ends at a device that is already kept.
        for (auto found = pci.find(at); found != pci.end() && kept.insert(at).second;
             found = pci.find(at)) {
            at = found->second.parent;
        }
    }
    std::vector<PciDevice> devices;
    for (std::string const& address : kept) {
        devices.push_back(pci.at(address));
        sysfs::fill_pci_device(root, devices.back());
    }
    return devices;
}

/// GPUs and cards get the links of their PCI devices, except cards that have their own.
void fill_links(Machine& machine) {
    auto const device_at = [&](std::string const& address) {
        auto const found = std::ranges::lower_bound(machine.pci, address, {}, &PciDevice::address);
        bool const same = found != machine.pci.end() && found->address == address;
        return same ? &*found : nullptr;
    };
    auto const fill = [&](auto& card) {
        auto const* const device = device_at(card.address);
        if (device == nullptr) return;
        if (card.link == PcieLink{}) card.link = device->link;
        if (card.numa < 0) card.numa = device->numa;
    };
    std::ranges::for_each(machine.gpus, fill);
    std::ranges::for_each(machine.nics, fill);
}

bool is_nvswitch(PciDevice const& device) {
    return device.vendor == kNvidia && device.pci_class.starts_with(kNvswitch);
}

}  // namespace

Machine read_machine(std::filesystem::path const& root, std::string const& name) {
    Machine machine;
    machine.name = name.empty() ? sysfs::text_in(root / "proc/sys/kernel/hostname") : name;
    machine.source = "sysfs:" + root.string();
    machine.kernel = sysfs::text_in(root / "proc/sys/kernel/osrelease");
    machine.gpu_driver = sysfs::text_in(root / "sys/module/nvidia/version");
    sysfs::read_cpus(root, machine);
    auto const pci = sysfs::read_pci(root);
    machine.gpus = sysfs::read_gpus(root, pci);
    machine.nics = sysfs::read_nics(root, pci);
    machine.pci = devices_that_matter(root, pci, machine);
    fill_links(machine);
    for (PciDevice const& device : machine.pci) machine.nvswitch |= is_nvswitch(device);
    return machine;
}

}  // namespace osora::topology
