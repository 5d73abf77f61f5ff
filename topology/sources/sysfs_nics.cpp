// Network cards: RDMA devices of sys/class/infiniband, each port joined with its interface of
// sys/class/net, then the remaining interfaces.
#include "base/text/text.hpp"
#include "topology/sources/sysfs_internal.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace osora::topology::sysfs {
namespace {

constexpr int kGidsMax = 256, kGidGapMax = 8, kTypeInfiniband = 32, kTypeEthernet = 1;
constexpr double kGbitMax = 1e5;

struct Interface {
    Nic nic;
    int dev_port = 0;
};
using Interfaces = std::map<std::string, Interface>;

/// "400 Gb/sec (4X NDR)".
double rate_gbit(std::string_view text) {
    double rate = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
    std::string_view const unit = trimmed({end, text.data() + text.size()});
    bool const good = error == std::errc() && rate > 0 && rate < kGbitMax;
    return good && unit.starts_with("Gb/sec") ? rate : 0;
}

/// The kind of a virtual interface, which has no device.
std::string virtual_driver(fs::path const& folder, std::string const& name) {
    std::error_code error;
    auto const has = [&](char const* entry) { return fs::exists(folder / entry, error); };
    if (has("bonding")) return "bonding";
    if (has("bridge")) return "bridge";
    if (has("tun_flags")) return "tun";
    std::string const type(line_value(text_in(folder / "uevent"), "DEVTYPE="));
    if (!type.empty()) return type;
    auto const own = number_in(folder / "ifindex");
    auto const peer = number_in(folder / "iflink");
    if (name.starts_with("veth") || (own && peer && *own != *peer)) return "veth";
    return "";
}

std::string master_of(fs::path const& folder) {
    std::error_code error;
    auto const target = fs::read_symlink(folder / "master", error);
    if (!error) return target.filename().string();
    return std::string(line_value(text_in(folder / "master/uevent"), "INTERFACE="));
}

bool is_up(fs::path const& folder) {
    std::string const state = text_in(folder / "operstate");
    if (state != "unknown" && !state.empty()) return state == "up";
    return (number_in(folder / "flags").value_or(0) & 1) != 0;  // IFF_UP: lo, tun, some VMs
}

Interface read_interface(fs::path const& folder, std::string const& name) {
    Interface interface;
    Nic& nic = interface.nic;
    nic.interface = name;
    nic.address = address_of(folder / "device");
    nic.driver = driver_of(folder / "device");
    if (nic.driver.empty()) nic.driver = virtual_driver(folder, name);
    nic.up = is_up(folder);
    nic.master = master_of(folder);
    auto const type = number_in(folder / "type").value_or(kTypeEthernet);
    nic.kind = type == kTypeInfiniband ? NicKind::infiniband
               : type == kTypeEthernet ? NicKind::ethernet
                                       : NicKind::other;
    double const mbit = static_cast<double>(number_in(folder / "speed").value_or(0));
    if (mbit > 0 && mbit < kGbitMax * 1000) nic.rate_gbit = mbit / 1000;  // -1: not known
    auto const mtu = number_in(folder / "mtu").value_or(0);
    if (mtu > 0 && mtu < (1 << 24)) nic.mtu = static_cast<int>(mtu);
    auto const port = number_in(folder / "dev_port").value_or(0);
    if (port >= 0 && port < 64) interface.dev_port = static_cast<int>(port);
    return interface;
}

std::vector<Gid> read_gids(fs::path const& port) {
    std::vector<Gid> gids;
    for (int index = 0, gap = 0; index < kGidsMax && gap < kGidGapMax; ++index) {
        std::string const number = std::to_string(index);
        std::string value = text_in(port / "gids" / number);
        if (value.empty()) break;  // the table ends
        bool const set = value.find_first_not_of("0:") != std::string::npos;
        gap = set ? 0 : gap + 1;
        if (!set) continue;
        gids.push_back({index, text_in(port / "gid_attrs/types" / number), std::move(value)});
    }
    return gids;
}

NicKind rdma_kind(Nic const& nic, std::string_view layer) {
    if (nic.driver == "efa") return NicKind::efa;
    if (layer == "InfiniBand") return NicKind::infiniband;
    return layer == "Ethernet" ? NicKind::roce : NicKind::other;
}

/// The interface of a port: the one in the GID table, or one of the same card.
Interfaces::iterator interface_of(Interfaces& interfaces, fs::path const& port, Nic const& nic) {
    std::string const named = text_in(port / "gid_attrs/ndevs/0");
    if (auto const found = interfaces.find(named); found != interfaces.end()) return found;
    auto const same_card = [&](auto const& each) {
        return !nic.address.empty() && each.second.nic.address == nic.address;
    };
    auto const exact = std::ranges::find_if(interfaces, [&](auto const& each) {
        return same_card(each) && each.second.dev_port == nic.port - 1;
    });
    return exact != interfaces.end() ? exact : std::ranges::find_if(interfaces, same_card);
}

/// If the folder is a link, the device in `pci` has its link. A plain folder may not show its
/// address, but has the link.
void read_place(Nic& nic, fs::path const& device, std::map<std::string, PciDevice> const& pci) {
    std::error_code error;
    bool const plain = !fs::is_symlink(device, error) && fs::is_directory(device, error);
    bool const known = !nic.address.empty() && (plain || !pci.contains(nic.address));
    if (!known && !(plain && nic.address.empty())) return;
    nic.numa = numa_in(device);
    nic.link = link_in(device);
}

Nic read_port(fs::path const& device, fs::path const& port, Interfaces& interfaces) {
    Nic nic;
    nic.device = device.filename().string();
    nic.port =
        static_cast<int>(std::clamp(std::strtol(port.filename().c_str(), nullptr, 10), 1L, 254L));
    nic.address = address_of(device / "device");
    nic.driver = driver_of(device / "device");
    nic.firmware = text_in(device / "fw_ver");
    nic.rate_gbit = rate_gbit(text_in(port / "rate"));
    std::string const state = text_in(port / "state");
    std::string const physical = text_in(port / "phys_state");
    nic.up = state.find("ACTIVE") != std::string::npos &&
             (physical.empty() || physical.find("LinkUp") != std::string::npos);
    nic.kind = rdma_kind(nic, text_in(port / "link_layer"));
    nic.gids = read_gids(port);
    if (auto const found = interface_of(interfaces, port, nic); found != interfaces.end()) {
        Nic const& own = found->second.nic;
        nic.interface = own.interface;
        nic.mtu = own.mtu;
        nic.master = own.master;
        if (nic.address.empty()) nic.address = own.address;
        interfaces.erase(found);
    }
    return nic;
}

}  // namespace

std::vector<Nic> read_nics(fs::path const& root, std::map<std::string, PciDevice> const& pci) {
    Interfaces interfaces;
    fs::path const net = root / "sys/class/net";
    std::vector<std::string> const names = names_in(net);
    for (std::string const& name : names) {
        if (fs::is_directory(net / name)) {  // bonding_masters is a file
            interfaces.emplace(name, read_interface(net / name, name));
        }
    }
    std::vector<Nic> nics;
    fs::path const rdma = root / "sys/class/infiniband";
    for (std::string const& name : names_in(rdma)) {
        for (std::string const& port : names_in(rdma / name / "ports")) {
            nics.push_back(read_port(rdma / name, rdma / name / "ports" / port, interfaces));
            read_place(nics.back(), rdma / name / "device", pci);
        }
    }
    for (std::string const& name : names) {
        auto const left = interfaces.find(name);
        if (left == interfaces.end()) continue;
        read_place(left->second.nic, net / name / "device", pci);
        nics.push_back(left->second.nic);
    }
    auto const addresses = read_addresses(root);
    for (Nic& nic : nics) {
        if (auto const own = addresses.find(nic.interface); own != addresses.end()) {
            nic.addresses = own->second;
        }
    }
    return nics;
}

}  // namespace osora::topology::sysfs
