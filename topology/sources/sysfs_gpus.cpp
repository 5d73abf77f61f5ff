// NVIDIA's GPUs: PCI devices of its display and accelerator classes, completed from the driver's
// files in /proc.
#include "topology/gpu_models.hpp"
#include "topology/pci_address.hpp"
#include "topology/sources/sysfs_internal.hpp"

#include <set>

namespace osora::topology::sysfs {
namespace {

constexpr std::string_view kNvidia = "0x10de";

bool is_display(std::string_view pci_class) {
    return pci_class.starts_with("0x0300") || pci_class.starts_with("0x0302");
}

MachineGpu gpu_at(fs::path const& root, std::string const& address) {
    fs::path const device = root / "sys/bus/pci/devices" / address;
    std::string const information =
        text_in(root / "proc/driver/nvidia/gpus" / address / "information");
    MachineGpu gpu;
    gpu.address = address;
    gpu.name = std::string(line_value(information, "Model:"));
    gpu.uuid = std::string(line_value(information, "GPU UUID:"));
    if (auto const model = gpu_model(text_in(device / "device"))) {
        if (gpu.name.empty()) gpu.name = std::string(model->name);
        gpu.compute_capability = model->compute_capability;
    }
    return gpu;
}

}  // namespace

std::vector<MachineGpu> read_gpus(fs::path const& root,
                                  std::map<std::string, PciDevice> const& pci) {
    std::set<std::string> addresses;
    for (std::string const& name : names_in(root / "proc/driver/nvidia/gpus")) {
        if (auto const address = pci_address(name)) addresses.insert(*address);
    }
    for (auto const& [address, device] : pci) {
        if (!is_display(device.pci_class)) continue;
        if (text_in(root / "sys/bus/pci/devices" / address / "vendor") == kNvidia) {
            addresses.insert(address);
        }
    }
    std::vector<MachineGpu> gpus;
    for (std::string const& address : addresses) gpus.push_back(gpu_at(root, address));
    return gpus;
}

}  // namespace osora::topology::sysfs
