// Writes a Machine as NCCL's topology file. A switch in sysfs is an upstream port with downstream
// ports below it; NCCL expects one element, for the upstream port.
#include "topology/device_path.hpp"
#include "topology/sources/nccl_xml.hpp"

#include <fmt/format.h>
#include <pugixml.hpp>

#include <algorithm>
#include <map>
#include <sstream>

namespace osora::topology {
namespace {

using Devices = std::map<std::string, PciDevice const*>;

std::string speed_text(PcieLink const& link) {
    double const speed = link.max_gt_s > 0 ? link.max_gt_s : link.current_gt_s;
    return speed > 0 ? fmt::format("{:.1f} GT/s PCIe", speed) : "";
}

class Writer {
public:
    explicit Writer(Machine const& machine) : machine_(machine) {
        for (PciDevice const& device : machine.pci) devices_[device.address] = &device;
    }

    std::string write() {
        auto system = document_.append_child("system");
        system.append_attribute("version") = "1";
        for (MachineGpu const& gpu : machine_.gpus) add_gpu(system, gpu);
        for (Nic const& nic : machine_.nics) {
            bool const counts = !nic.device.empty() && !nic.address.empty() && nic.up;
            if (counts) add_nic(system, nic);
        }
        std::ostringstream text;
        document_.save(text, "  ", pugi::format_default | pugi::format_no_declaration);
        return text.str();
    }

private:
    pugi::xml_node cpu_at(pugi::xml_node system, int numa) {
        auto const id = std::to_string(std::max(numa, 0));
        if (auto const known = system.find_child_by_attribute("cpu", "numaid", id.c_str())) {
            return known;
        }
        auto cpu = system.append_child("cpu");
        cpu.append_attribute("numaid") = id.c_str();
        if (!machine_.cpu_arch.empty()) {
            cpu.append_attribute("arch") = machine_.cpu_arch.c_str();
            cpu.append_attribute("vendor") = machine_.cpu_vendor.c_str();
        }
        return cpu;
    }

    static pugi::xml_node pci_at(pugi::xml_node parent, PciDevice const& device) {
        auto const& busid = device.address;
        if (auto const known = parent.find_child_by_attribute("pci", "busid", busid.c_str())) {
            return known;
        }
        auto pci = parent.append_child("pci");
        pci.append_attribute("busid") = busid.c_str();
        pci.append_attribute("class") = device.pci_class.c_str();
        if (!device.vendor.empty()) {
            pci.append_attribute("vendor") = device.vendor.c_str();
            pci.append_attribute("device") = device.device.c_str();
        }
        pci.append_attribute("link_speed") = speed_text(device.link).c_str();
        int const width =
            device.link.max_width > 0 ? device.link.max_width : device.link.current_width;
        pci.append_attribute("link_width") = width;
        return pci;
    }

    pugi::xml_node element_of(pugi::xml_node system, std::string const& address, int numa) {
        auto const found = devices_.find(address);
        PciDevice alone;
        alone.address = address;
        PciDevice const& device = found != devices_.end() ? *found->second : alone;
        auto at = cpu_at(system, device.numa >= 0 ? device.numa : numa);
        auto const switches = switches_over(machine_, address);
        for (auto each = switches.rbegin(); each != switches.rend(); ++each) {
            auto const known = devices_.find(*each);
            if (known != devices_.end()) at = pci_at(at, *known->second);
        }
        return pci_at(at, device);
    }

    void add_gpu(pugi::xml_node system, MachineGpu const& gpu) {
        auto element = element_of(system, gpu.address, gpu.numa).append_child("gpu");
        if (gpu.compute_capability > 0) element.append_attribute("sm") = gpu.compute_capability;
        for (NvlinkPeer const& peer : gpu.nvlinks) {
            auto link = element.append_child("nvlink");
            bool const to_switch = peer.address == "switch";
            link.append_attribute("target") = to_switch ? "ffff:ff:ff.0" : peer.address.c_str();
            link.append_attribute("count") = peer.links;
            link.append_attribute("tclass") = to_switch ? "0x068000" : "0x030200";
        }
    }

    void add_nic(pugi::xml_node system, Nic const& nic) {
        auto element = element_of(system, nic.address, nic.numa);
        if (nic.device == nic.address) return;  // known only by its class: NCCL finds its name
        auto holder = element.child("nic");
        if (!holder) holder = element.append_child("nic");
        auto net = holder.append_child("net");
        net.append_attribute("name") = nic.device.c_str();
        net.append_attribute("dev") = index_++;
        constexpr double kMbitMax = 1e8;
        bool const known = nic.rate_gbit > 0 && nic.rate_gbit * 1000 <= kMbitMax;
        net.append_attribute("speed") = known ? static_cast<int>(nic.rate_gbit * 1000) : 0;
        net.append_attribute("port") = nic.port;
        net.append_attribute("gdr") = 1;
    }

    Machine const& machine_;
    Devices devices_;
    pugi::xml_document document_;
    int index_ = 0;
};

}  // namespace

std::string write_nccl_xml(Machine const& machine) {
    return Writer(machine).write();
}

}  // namespace osora::topology
