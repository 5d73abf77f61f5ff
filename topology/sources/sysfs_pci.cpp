// The PCIe tree. If sys/bus/pci/devices has links, their targets show the hierarchy; if it was
// copied into plain folders, the bus numbers of the bridges do.
#include "base/files/regular_file.hpp"
#include "topology/pci_address.hpp"
#include "topology/sources/sysfs_internal.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>

namespace osora::topology::sysfs {
namespace {

constexpr std::string_view kBridge = "0x0604";

/// Parent and host from "../../../devices/pci0000:16/0000:16:01.0/0000:17:00.0".
bool place_by_link(fs::path const& link, PciDevice& device) {
    std::error_code error;
    fs::path const target = fs::read_symlink(link, error);
    if (error) return false;
    std::string above;
    for (fs::path const& part : target) {
        std::string const name = part.string();
        if (name == link.filename()) break;
        if (auto const address = pci_address(name)) above = *address;
        if (name.starts_with("pci") && name.size() > 3) device.host = name;
    }
    device.parent = above;
    return !device.host.empty();
}

std::string domain_of(std::string const& address) {
    return address.substr(0, address.find(':'));
}

/// For devices without links: the bridge whose secondary bus they are on.
void place_by_bus(fs::path const& folder, std::map<std::string, PciDevice>& pci,
                  std::vector<std::string> const& unplaced) {
    std::map<std::pair<std::string, int>, std::string> bridge_of;  // by domain and bus
    for (std::string const& address : unplaced) {
        auto const bus = number_in(folder / address / "secondary_bus_number").value_or(0);
        if (bus <= 0 || bus > 255) continue;
        bridge_of.try_emplace({domain_of(address), static_cast<int>(bus)}, address);
    }
    for (std::string const& address : unplaced) {
        auto const found = bridge_of.find({domain_of(address), pci_bus(address)});
        if (found != bridge_of.end() && found->second != address) {
            pci[address].parent = found->second;
        }
    }
}

/// The extended capability ACS (PCIe 6.0, 7.7.11) of a bridge: "on" if a request between two
/// devices below it goes through the root. Only root can read that far.
std::string acs_in(fs::path const& device) {
    constexpr std::size_t kFirst = 0x100, kSize = 4096;
    constexpr unsigned kAcs = 0x000d, kSourceValidation = 1 << 0, kRedirects = 1 << 2 | 1 << 3;
    std::array<char, kSize> bytes{};
    if (check_regular(device / "config").has_error()) return {};
    std::ifstream file(device / "config", std::ios::binary);
    if (!file.read(bytes.data(), bytes.size())) return {};
    auto const word = [&](std::size_t at) {
        std::uint32_t value = 0;
        std::memcpy(&value, bytes.data() + at, sizeof value);  // little endian, as the bus
        return value;
    };
    std::size_t at = kFirst;
    for (int hops = 0; hops < 64 && at >= kFirst && at + 8 <= kSize; ++hops) {
        std::uint32_t const header = word(at);
        if (header == 0 || header == ~0u) return {};
        if ((header & 0xffff) == kAcs) {
            unsigned const control = word(at + 4) >> 16;
            return (control & (kSourceValidation | kRedirects)) != 0 ? "on" : "off";
        }
        at = header >> 20 & ~3u;
    }
    return {};
}

}  // namespace

std::map<std::string, PciDevice> read_pci(fs::path const& root) {
    fs::path const folder = root / "sys/bus/pci/devices";
    std::map<std::string, PciDevice> pci;
    std::vector<std::string> unplaced;
    for (std::string const& name : names_in(folder)) {
        auto const address = pci_address(name);
        if (!address) continue;
        PciDevice& device = pci[*address];
        device.address = *address;
        device.pci_class = text_in(folder / name / "class");
        if (!place_by_link(folder / name, device)) unplaced.push_back(*address);
    }
    place_by_bus(folder, pci, unplaced);
    return pci;
}

void fill_pci_device(fs::path const& root, PciDevice& device) {
    fs::path const folder = root / "sys/bus/pci/devices" / device.address;
    device.vendor = text_in(folder / "vendor");
    device.device = text_in(folder / "device");
    device.numa = numa_in(folder);
    device.link = link_in(folder);
    if (device.pci_class.starts_with(kBridge)) device.acs = acs_in(folder);
}

}  // namespace osora::topology::sysfs
