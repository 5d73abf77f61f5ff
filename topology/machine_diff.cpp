// One list of comparisons each for a machine, a GPU, a card and a bridge. Why a slower link
// matters: NCCL takes the minimum over all ranks of NICs and speeds, and reads max_link_*, not the
// current speed (src/init.cc, src/graph/topo.cc).
#include "topology/machine_diff.hpp"

#include "base/text/units.hpp"
#include "topology/device_path.hpp"
#include "topology/pcie_speed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace osora::topology {
namespace {

constexpr double kIdleGtS = 2.5;  // idle GPUs go down to gen 1
constexpr double kMemoryTolerance = 0.02;
constexpr char const* kAllSlow = "the whole job runs at this node's speed";

std::string gt_s(double value) {
    return fmt::format("{:g} GT/s", value);
}
std::string lanes(double value) {
    return fmt::format("x{:g}", value);
}
std::string plain_number(double value) {
    return fmt::format("{:g}", value);
}
std::string bytes(double value) {
    return format_bytes(static_cast<std::int64_t>(value));
}

/// Collects differences below one path.
struct Collector {
    std::vector<Difference>& into;
    std::string path;

    void text(char const* name, std::string const& reference, std::string const& other,
              std::string const& effect = "") const {
        if (reference == other || reference.empty() || other.empty()) return;
        into.push_back({path + name, reference, other, effect, true});
    }
    /// 0 and negative numbers mean unknown.
    void number(char const* name, std::pair<double, double> values, std::string (*format)(double),
                std::string const& effect = "") const {
        auto const [reference, other] = values;
        if (reference == other || !(reference > 0) || !(other > 0)) return;
        into.push_back({path + name, format(reference), format(other), effect, other < reference});
    }
    void flag(char const* name, bool reference, bool other, std::string const& effect) const {
        if (reference == other) return;
        auto const word = [](bool value) { return value ? "yes" : "no"; };
        into.push_back({path + name, word(reference), word(other), effect, !other});
    }
    /// A NUMA node: 0 is one of them.
    void numa(int reference, int other) const {
        if (reference == other || reference < 0 || other < 0) return;
        into.push_back({path + "numa", fmt::format("node {}", reference),
                        fmt::format("node {}", other), "traffic takes another way on this node",
                        true});
    }
};

std::string link_effect(PcieLink const& link, double rate_gbit, bool is_gpu) {
    if (is_gpu && link.current_gt_s == kIdleGtS) {
        return "may be saving power while idle: look again under load";
    }
    std::string const most = fmt::format("moves at most {:.1f} GB/s", pcie_gbyte_s(link));
    std::string const of =
        rate_gbit > 0 ? fmt::format(" of the {:g} GB/s of its port", rate_gbit / 8) : "";
    return most + of + "; NCCL reads max_link_* and does not see it, " + kAllSlow;
}

void compare_links(Collector const& at, std::pair<PcieLink const&, PcieLink const&> links,
                   double rate_gbit, bool is_gpu) {
    auto const& [reference, other] = links;
    std::string const effect = link_effect(other, rate_gbit, is_gpu);
    at.number("link.current_gt_s", {reference.current_gt_s, other.current_gt_s}, gt_s, effect);
    at.number("link.current_width", {reference.current_width, other.current_width}, lanes, effect);
    at.number("link.max_gt_s", {reference.max_gt_s, other.max_gt_s}, gt_s,
              "another slot or card, or a limit in the BIOS");
    at.number("link.max_width", {reference.max_width, other.max_width}, lanes,
              "another slot or card, or a limit in the BIOS");
}

// Cards

std::string nic_name(Nic const& nic) {
    std::string const name = nic.device.empty() ? nic.interface : nic.device;
    return nic.port > 1 ? fmt::format("{}:{}", name, nic.port) : name;
}

std::string nic_summary(Nic const& nic) {
    std::string text = boost::describe::enum_to_string(nic.kind, "card");
    if (nic.rate_gbit > 0) text = format_gbit_per_s(nic.rate_gbit) + " " + text;
    return nic.address.empty() ? text : text + " at " + nic.address;
}

std::vector<Nic const*> compared_nics(Machine const& machine) {
    std::vector<Nic const*> nics;
    for (Nic const& nic : machine.nics) {
        if (is_compared(nic)) nics.push_back(&nic);
    }
    return nics;
}

/// Index in `other` for each of `reference`: by PCI address and port, then by name.
std::vector<std::optional<std::size_t>> matched(std::vector<Nic const*> const& reference,
                                                std::vector<Nic const*> const& other) {
    std::vector<std::optional<std::size_t>> match(reference.size());
    std::vector<bool> taken(other.size(), false);
    auto const take = [&](auto same) {
        for (std::size_t i = 0; i < reference.size(); ++i) {
            for (std::size_t j = 0; !match[i] && j < other.size(); ++j) {
                if (taken[j] || !same(*reference[i], *other[j])) continue;
                match[i] = j;
                taken[j] = true;
            }
        }
    };
    take([](Nic const& a, Nic const& b) {
        return !a.address.empty() && a.address == b.address && a.port == b.port &&
               a.device.empty() == b.device.empty();
    });
    take([](Nic const& a, Nic const& b) { return nic_name(a) == nic_name(b); });
    return match;
}

/// The index that RoCE over IPv4 needs; 0 = there is none. Index 0 cannot be one: entries 0 and 1
/// are for the link-local address.
int roce_gid_index(Nic const& nic) {
    for (Gid const& gid : nic.gids) {
        bool const ipv4 = gid.value.find(":ffff:") != std::string::npos;
        if (ipv4 && gid.type == "RoCE v2") return gid.index;
    }
    return 0;
}

/// "PIX to GPU3": the nearest GPU and its distance; beyond a switch, all GPUs of a NUMA node are
/// equal and not named.
std::string nearest_gpus(Machine const& machine, Nic const& nic) {
    auto best = PathKind::unknown;
    std::string names;
    for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
        auto const kind = pci_path(machine, machine.gpus[i].address, nic.address).kind;
        if (kind > best || kind == PathKind::unknown) continue;
        if (kind < best) names.clear();
        best = kind;
        names += fmt::format("{}GPU{}", names.empty() ? "" : ",", i);
    }
    if (names.empty()) return "";
    return best <= PathKind::pxb ? path_word({best}) + " to " + names : path_word({best});
}

void compare_nic(Collector const& at, Nic const& reference, Nic const& other) {
    at.text("device", reference.device, other.device,
            "a list in NCCL_IB_HCA names other cards on this node");
    at.text("interface", reference.interface, other.interface,
            "NCCL_SOCKET_IFNAME needs another name on this node");
    at.text("kind", boost::describe::enum_to_string(reference.kind, ""),
            boost::describe::enum_to_string(other.kind, ""), "nodes may not reach each other");
    at.flag("up", reference.up, other.up,
            std::string("a port that is down is left out: ") + kAllSlow);
    at.number("rate_gbit", {reference.rate_gbit, other.rate_gbit}, format_gbit_per_s, kAllSlow);
    compare_links(at, {reference.link, other.link}, other.rate_gbit, false);
    at.numa(reference.numa, other.numa);
    at.number("mtu", {reference.mtu, other.mtu}, plain_number,
              "large packets are cut up or lost between nodes");
    at.text("driver", reference.driver, other.driver);
    at.text("firmware", reference.firmware, other.firmware);
    at.text("master", reference.master, other.master);
    at.number("gid_index", {roce_gid_index(reference), roce_gid_index(other)}, plain_number,
              "NCCL_IB_GID_INDEX needs another value on this node");
}

void compare_nics(std::vector<Difference>& missing, std::vector<Difference>& found,
                  Machine const& reference, Machine const& other) {
    auto const ours = compared_nics(reference);
    auto const theirs = compared_nics(other);
    auto const match = matched(ours, theirs);
    std::vector<bool> extra(theirs.size(), true);
    for (std::size_t i = 0; i < ours.size(); ++i) {
        std::string const path = "nic." + nic_name(*ours[i]);
        if (!match[i]) {
            missing.push_back(
                {path, nic_summary(*ours[i]), "missing",
                 std::string("NCCL uses as many cards as the node with the fewest: ") + kAllSlow,
                 true});
            continue;
        }
        extra[*match[i]] = false;
        Collector const at{found, path + "."};
        Nic const& same = *theirs[*match[i]];
        compare_nic(at, *ours[i], same);
        if (ours[i]->device.empty() || reference.gpus.size() != other.gpus.size()) continue;
        at.text("nearest_gpu", nearest_gpus(reference, *ours[i]), nearest_gpus(other, same),
                "GPUs reach the network by another way than on the other nodes");
    }
    for (std::size_t j = 0; j < theirs.size(); ++j) {
        if (!extra[j]) continue;
        found.push_back(
            {"nic." + nic_name(*theirs[j]), "missing", nic_summary(*theirs[j]), "", false});
    }
}

// GPUs and bridges

int nvlinks_of(MachineGpu const& gpu) {
    int links = 0;
    for (NvlinkPeer const& peer : gpu.nvlinks) links += peer.links;
    return links;
}

void compare_gpu(Collector const& at, MachineGpu const& reference, MachineGpu const& other) {
    at.text("name", reference.name, other.name, "mixed GPUs: all wait for the slowest kind");
    at.number(
        "memory_bytes",
        {static_cast<double>(reference.memory_bytes), static_cast<double>(other.memory_bytes)},
        bytes, "what fits one GPU may not fit this one");
    compare_links(at, {reference.link, other.link}, 0, true);
    at.numa(reference.numa, other.numa);
    at.number("nvlinks",
              {static_cast<double>(nvlinks_of(reference)), static_cast<double>(nvlinks_of(other))},
              plain_number, kAllSlow);
    at.flag("nvl_domain", !reference.nvl_domain.empty(), !other.nvl_domain.empty(),
            "NVLink between nodes is not up on one of them");
}

void compare_gpus(std::vector<Difference>& missing, std::vector<Difference>& found,
                  Machine const& reference, Machine const& other) {
    auto const& ours = reference.gpus;
    auto const& theirs = other.gpus;
    auto const index_of = [&](std::string const& address) {
        return std::ranges::find(theirs, address, &MachineGpu::address) - theirs.begin();
    };
    bool const by_address = std::ranges::any_of(ours, [&](MachineGpu const& gpu) {
        return index_of(gpu.address) < static_cast<std::ptrdiff_t>(theirs.size());
    });
    std::vector<bool> extra(theirs.size(), true);
    for (std::size_t i = 0; i < ours.size(); ++i) {
        auto const at = by_address ? static_cast<std::size_t>(index_of(ours[i].address)) : i;
        std::string const path = fmt::format("gpu.{}", i);
        if (at >= theirs.size()) {
            missing.push_back({path, fmt::format("{} at {}", ours[i].name, ours[i].address),
                               "missing", "a rank of this node has no GPU", true});
            continue;
        }
        extra[at] = false;
        compare_gpu({found, path + "."}, ours[i], theirs[at]);
    }
    for (std::size_t j = 0; j < theirs.size(); ++j) {
        if (!extra[j]) continue;
        found.push_back({fmt::format("gpu.{}", j), "missing",
                         fmt::format("{} at {}", theirs[j].name, theirs[j].address), "", false});
    }
}

void compare_bridges(std::vector<Difference>& found, Machine const& reference,
                     Machine const& other) {
    std::map<std::string, PciDevice const*> theirs;
    for (PciDevice const& device : other.pci) theirs[device.address] = &device;
    for (PciDevice const& device : reference.pci) {
        auto const same = theirs.find(device.address);
        bool const bridge = device.pci_class.starts_with("0x0604");
        if (!bridge || same == theirs.end()) continue;
        Collector const at{found, "pci." + device.address + "."};
        // Links below idle GPUs slow down with them.
        if (same->second->link.current_gt_s != kIdleGtS) {
            compare_links(at, {device.link, same->second->link}, 0, false);
        }
        at.text("acs", device.acs, same->second->acs,
                "with ACS on, traffic between GPU and NIC goes up to the CPU and back");
    }
}

void compare_machine(Collector const& at, Machine const& reference, Machine const& other) {
    at.text("cpu_model", reference.cpu_model, other.cpu_model, "NCCL's tuning differs by CPU");
    at.number("sockets", {reference.sockets, other.sockets}, plain_number);
    at.number("cores", {reference.cores, other.cores}, plain_number,
              "loaders and NCCL's threads have less room");
    at.number("numa_nodes",
              {static_cast<double>(reference.numa.size()), static_cast<double>(other.numa.size())},
              plain_number, "another BIOS setting (NPS, SNC): NCCL sees another machine");
    auto const ours = static_cast<double>(reference.memory_bytes);
    auto const theirs = static_cast<double>(other.memory_bytes);
    if (std::abs(ours - theirs) > kMemoryTolerance * std::max(ours, theirs)) {
        at.number("memory_bytes", {ours, theirs}, bytes, "a memory module may be missing");
    }
    at.text("gpu_driver", reference.gpu_driver, other.gpu_driver, "mixed drivers in one job");
    at.text("kernel", reference.kernel, other.kernel);
}

}  // namespace

bool is_compared(Nic const& nic) {
    return !nic.device.empty() || !nic.address.empty() || nic.driver == "bonding";
}

std::vector<Difference> diff_machines(Machine const& reference, Machine const& other) {
    std::vector<Difference> differences;
    std::vector<Difference> found;
    compare_gpus(differences, found, reference, other);
    compare_nics(differences, found, reference, other);
    compare_bridges(found, reference, other);
    compare_machine({found, ""}, reference, other);
    differences.insert(differences.end(), found.begin(), found.end());
    return differences;
}

}  // namespace osora::topology
