// Names and meaning of elements and attributes: NCCL's src/graph/xml.cc and topo.cc (2.30).
#include "topology/sources/nccl_xml.hpp"

#include "topology/gpu_models.hpp"
#include "topology/pci_address.hpp"

#include <fmt/format.h>
#include <pugixml.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace osora::topology {
namespace {

constexpr int kDepthMax = 64;
constexpr std::size_t kElementsMax = 100000, kXmlBytesMax = 64 << 20;
constexpr double kMbitMax = 1e8;
constexpr char const *kNvswitchClass = "0x068000", *kNvidiaVendor = "0x10de";

/// Where `offset` is, for people.
std::ptrdiff_t line_of(std::string_view text, std::ptrdiff_t offset) {
    auto const at = std::clamp<std::ptrdiff_t>(offset, 0, static_cast<std::ptrdiff_t>(text.size()));
    return std::ranges::count(text.substr(0, static_cast<std::size_t>(at)), '\n') + 1;
}

class Reader {
public:
    Reader(Machine& machine, std::string_view text) : machine_(machine), text_(text) {}

    Result<void> read_system(pugi::xml_node system) {
        for (pugi::xml_node const cpu : system.children("cpu")) OSORA_TRY_VOID(read_cpu(cpu));
        std::ranges::sort(machine_.numa, {}, &NumaNode::id);
        std::ranges::sort(machine_.pci, {}, &PciDevice::address);
        std::ranges::sort(machine_.gpus, {}, &MachineGpu::address);
        std::ranges::stable_sort(machine_.nics, [](Nic const& a, Nic const& b) {
            return std::pair(a.device.size(), a.device) < std::pair(b.device.size(), b.device);
        });
        machine_.sockets = static_cast<int>(machine_.numa.size());
        return {};
    }

private:
    [[nodiscard]] Error bad(pugi::xml_node at, std::string_view why) const {
        auto const line = line_of(text_, at.offset_debug());
        return {Errc::invalid_input, fmt::format("line {}: {}", line, why)};
    }

    Result<void> read_cpu(pugi::xml_node cpu) {
        int const numa = std::max(cpu.attribute("numaid").as_int(-1), -1);
        if (numa > 4095) return bad(cpu, fmt::format("numaid {} is none", numa));
        numa_ = numa;
        host_ = fmt::format("cpu{}", std::max(numa, 0));
        bool const is_new =
            std::ranges::find(machine_.numa, numa, &NumaNode::id) == machine_.numa.end();
        if (numa >= 0 && is_new) machine_.numa.push_back({numa, "", 0});
        machine_.cpu_arch = cpu.attribute("arch").as_string();
        machine_.cpu_vendor = cpu.attribute("vendor").as_string();
        return read_children(cpu, "", 0);
    }

    Result<void> read_children(pugi::xml_node parent, std::string const& above, int depth) {
        if (depth > kDepthMax) return bad(parent, "nested deeper than 64");
        for (pugi::xml_node const child : parent.children()) {
            if (++elements_ > kElementsMax) return bad(child, "more than 100,000 elements");
            std::string_view const name = child.name();
            if (name == "pci") OSORA_TRY_VOID(read_pci(child, above, depth));
            if (name == "nic") OSORA_TRY_VOID(read_nets(child, {}));
        }
        return {};
    }

    Result<void> read_pci(pugi::xml_node element, std::string const& above, int depth) {
        std::string_view const busid = element.attribute("busid").as_string();
        auto const address = pci_address(busid);
        if (!address) {
            return bad(element, fmt::format("busid '{}' is no PCI address", busid.substr(0, 40)));
        }
        if (!addresses_.insert(*address).second) {
            return bad(element, fmt::format("PCI device {} is listed twice", *address));
        }
        PciDevice device;
        device.address = *address;
        device.parent = above;
        device.host = host_;
        device.pci_class = element.attribute("class").as_string();
        device.vendor = element.attribute("vendor").as_string();
        device.device = element.attribute("device").as_string();
        device.numa = numa_;
        device.link = link_of(element);
        machine_.pci.push_back(device);
        auto const gpu = element.child("gpu");
        auto const nic = element.child("nic");
        if (gpu) add_gpu(gpu, device);
        if (nic) OSORA_TRY_VOID(read_nets(nic, device));
        if (!gpu && !nic.child("net") && !element.child("pci")) add_by_class(element, device);
        return read_children_below(element, *address, depth);
    }

    /// Its "nic" was read with the device itself.
    Result<void> read_children_below(pugi::xml_node element, std::string const& address,
                                     int depth) {
        if (depth > kDepthMax) return bad(element, "nested deeper than 64");
        for (pugi::xml_node const child : element.children("pci")) {
            if (++elements_ > kElementsMax) return bad(child, "more than 100,000 elements");
            OSORA_TRY_VOID(read_pci(child, address, depth + 1));
        }
        return {};
    }

    static PcieLink link_of(pugi::xml_node element) {
        PcieLink link;
        double const speed = element.attribute("link_speed").as_double(0);  // "16.0 GT/s PCIe"
        int const width = element.attribute("link_width").as_int(0);
        if (std::isfinite(speed) && speed > 0 && speed <= 1024) link.max_gt_s = speed;
        if (width > 0 && width <= 32) link.max_width = width;
        return link;
    }

    void add_gpu(pugi::xml_node element, PciDevice const& device) {
        MachineGpu gpu;
        gpu.address = device.address;
        if (auto const model = gpu_model(device.device)) gpu.name = std::string(model->name);
        // RCCL's number in "sm" is none of CUDA's: "gfx942" has 94.
        auto const gcn = element.attribute("gcn");
        std::string_view const architecture = gcn.as_string();
        if (architecture.starts_with("gfx")) gpu.name = "AMD " + std::string(architecture);
        int const sm = element.attribute("sm").as_int(0);
        if (!gcn && sm > 0 && sm < 1000) gpu.compute_capability = sm;
        gpu.numa = device.numa;
        gpu.link = device.link;
        for (pugi::xml_node const link : element.children("nvlink")) read_link(link, gpu);
        for (pugi::xml_node const link : element.children("xgmi")) read_link(link, gpu);
        machine_.gpus.push_back(std::move(gpu));
    }

    void read_link(pugi::xml_node link, MachineGpu& gpu) {
        int const count = link.attribute("count").as_int(0);
        if (count <= 0 || count > 1024) return;
        bool const to_switch =
            link.attribute("tclass").as_string() == std::string_view(kNvswitchClass);
        machine_.nvswitch |= to_switch;
        std::string_view const target = link.attribute("target").as_string();
        add_links(gpu, to_switch ? "switch" : pci_address(target).value_or(""), count);
    }

    /// Files from cloud providers have no <gpu> and no <net>: the PCI class shows what a device is.
    void add_by_class(pugi::xml_node element, PciDevice const& device) {
        bool const no_vendor = device.vendor.empty() || device.vendor == "0xffff";
        bool const display =
            device.pci_class.starts_with("0x0302") || device.pci_class.starts_with("0x0300");
        if (display && (no_vendor || device.vendor == kNvidiaVendor)) {
            add_gpu(element, device);
        } else if (device.pci_class.starts_with("0x0207") || is_efa(device)) {
            add_card(device, is_efa(device) ? NicKind::efa : NicKind::infiniband);
        } else if (device.pci_class.starts_with("0x0200")) {
            add_card(device, NicKind::ethernet);
        } else if (device.pci_class.starts_with("0x0680") && device.vendor == kNvidiaVendor) {
            machine_.nvswitch = true;
        }
    }

    /// A card that is known only by its address.
    void add_card(PciDevice const& device, NicKind kind) {
        Nic nic;
        (kind == NicKind::ethernet ? nic.interface : nic.device) = device.address;
        nic.kind = kind;
        nic.address = device.address;
        nic.numa = device.numa;
        nic.link = device.link;
        nic.up = true;
        machine_.nics.push_back(std::move(nic));
    }

    static bool is_efa(PciDevice const& device) {
        return device.vendor == "0x1d0f" && device.device.starts_with("0xefa");
    }

    /// NCCL also writes guid and gdr for plain sockets, with port 0; InfiniBand counts from 1.
    static bool is_rdma_net(pugi::xml_node net, PciDevice const& device) {
        if (is_efa(device)) return true;
        auto const port = net.attribute("port");
        bool const socket = port && port.as_int(1) == 0;
        return !socket && (net.attribute("guid") || net.attribute("gdr"));
    }

    static NicKind kind_of(bool rdma, std::string_view name, PciDevice const& device) {
        if (is_efa(device)) return NicKind::efa;
        if (device.pci_class.starts_with("0x0207")) return NicKind::infiniband;
        if (rdma) return NicKind::roce;
        bool other = device.pci_class.starts_with("0x0280");  // Wi-Fi
        for (std::string_view const tunnel : {"tailscale", "tun", "tap", "wg", "lo", "zt"}) {
            other = other || (device.address.empty() && name.starts_with(tunnel));
        }
        return other ? NicKind::other : NicKind::ethernet;
    }

    static void add_links(MachineGpu& gpu, std::string const& peer, int count) {
        if (peer.empty()) return;
        auto const known = std::ranges::find(gpu.nvlinks, peer, &NvlinkPeer::address);
        if (known != gpu.nvlinks.end()) {
            known->links += count;
        } else {
            gpu.nvlinks.push_back({peer, count});
        }
    }

    Result<void> read_nets(pugi::xml_node element, PciDevice const& device) {
        for (pugi::xml_node const net : element.children("net")) {
            if (++elements_ > kElementsMax) return bad(net, "more than 100,000 elements");
            std::string const name = net.attribute("name").as_string();
            double const mbit = net.attribute("speed").as_double(0);
            if (name.empty()) return bad(net, "a net without a name");
            if (!(mbit >= 0 && mbit <= kMbitMax)) {
                return bad(net,
                           fmt::format("speed of {} must be in 0..{:g} Mbit/s", name, kMbitMax));
            }
            Nic nic;
            bool const rdma = is_rdma_net(net, device);
            (rdma ? nic.device : nic.interface) = name;
            nic.kind = kind_of(rdma, name, device);
            nic.port = std::clamp(net.attribute("port").as_int(1), 1, 254);
            nic.address = device.address;
            nic.numa = device.address.empty() ? numa_ : device.numa;
            nic.link = device.link;
            nic.rate_gbit = mbit / 1000;
            nic.up = true;  // NCCL lists only those that are
            machine_.nics.push_back(std::move(nic));
        }
        return {};
    }

    Machine& machine_;
    std::string_view text_;
    std::set<std::string> addresses_;
    std::string host_;
    int numa_ = -1;
    std::size_t elements_ = 0;
};

}  // namespace

Result<Machine> parse_nccl_xml(std::string_view text, std::string name) {
    if (text.size() > kXmlBytesMax) return Error{Errc::invalid_input, "more than 64 MiB of XML"};
    if (auto const doctype = text.find("<!DOCTYPE"); doctype != std::string_view::npos) {
        auto const line = line_of(text, static_cast<std::ptrdiff_t>(doctype));
        return Error{Errc::invalid_input,
                     fmt::format("line {}: a document type is not taken", line)};
    }
    pugi::xml_document document;
    auto const parsed = document.load_buffer(text.data(), text.size());
    if (!parsed) {
        return Error{Errc::invalid_input, fmt::format("line {}: {}", line_of(text, parsed.offset),
                                                      parsed.description())};
    }
    auto const system = document.child("system");
    if (!system) return Error{Errc::invalid_input, "no <system>: not a topology file of NCCL"};
    Machine machine;
    machine.name = std::move(name);
    machine.source = "nccl-xml";
    OSORA_TRY_VOID(Reader(machine, text).read_system(system));
    return machine;
}

}  // namespace osora::topology
