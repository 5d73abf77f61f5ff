// One machine: its sockets, PCIe switches, GPUs and cards, and the matrix of paths.
#include "base/text/units.hpp"
#include "cli/cluster/topology_text.hpp"
#include "cli/text/terminal.hpp"
#include "topology/device_path.hpp"
#include "topology/pcie_speed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace osora::cli {
namespace {

using topology::Machine;
using topology::MachineGpu;
using topology::Nic;
using topology::PcieLink;

constexpr std::size_t kGpuColumns = 12;  // of five or six characters each

/// "gen4 x16"; a link of which only the maximum is known counts as having that.
std::string link_text(PcieLink const& link) {
    double const speed = link.current_gt_s > 0 ? link.current_gt_s : link.max_gt_s;
    int const width = link.current_width > 0 ? link.current_width : link.max_width;
    std::string text = speed > 0 ? fmt::format("gen{}", topology::pcie_generation(speed)) : "";
    if (width > 0) text += fmt::format("{}x{}", text.empty() ? "" : " ", width);
    if (!topology::is_downgraded(link)) return text;
    // Idle GPUs lower their link to gen 1.
    bool const idle = link.current_gt_s == 2.5 && link.current_width == link.max_width;
    return text + fmt::format(" <- can gen{} x{}{}", topology::pcie_generation(link.max_gt_s),
                              link.max_width, idle ? " (idle?)" : "");
}

std::string rate_text(Nic const& nic) {
    if (!nic.up) return "down";
    return nic.rate_gbit > 0 ? fmt::format("{:g} Gbit/s", nic.rate_gbit) : "";
}

std::string nic_text(Nic const& nic) {
    std::vector<std::string> words{boost::describe::enum_to_string(nic.kind, "?"), rate_text(nic)};
    if (!nic.device.empty()) words.push_back(printable(nic.interface));
    if (!nic.addresses.empty()) words.push_back(printable(nic.addresses.front()));
    if (!nic.master.empty()) words.push_back("part of " + printable(nic.master));
    std::erase(words, "");
    return fmt::format("{}", fmt::join(words, " "));
}

/// A device in the drawing.
struct Leaf {
    std::string label, address, link, text;
};

/// A PCIe switch or a NUMA node, with the devices on it.
struct Branch {
    std::map<std::string, Branch> switches;  // by address
    std::vector<Leaf> leaves;
};

void place(Branch& numa, Machine const& machine, Leaf leaf) {
    Branch* at = &numa;
    auto const switches = topology::switches_over(machine, leaf.address);
    for (auto each = switches.rbegin(); each != switches.rend(); ++each) at = &at->switches[*each];
    at->leaves.push_back(std::move(leaf));
}

class Picture {
public:
    explicit Picture(Machine const& machine) : machine_(machine) {}

    std::string draw(Branch const& branch, std::string const& indent) {
        std::string text;
        std::size_t left = branch.leaves.size() + branch.switches.size();
        for (Leaf const& leaf : branch.leaves) {
            std::string const mark = --left == 0 ? "└─ " : "├─ ";
            text += line(indent + mark, leaf);
        }
        for (auto const& [address, below] : branch.switches) {
            bool const last = --left == 0;
            Leaf self{"switch", address, link_of(address), ""};
            text += line(indent + (last ? "└─ " : "├─ "), self);
            if (indent.size() < 120) text += draw(below, indent + (last ? "   " : "│  "));
        }
        return text;
    }

private:
    [[nodiscard]] std::string link_of(std::string const& address) const {
        auto const found = std::ranges::find(machine_.pci, address, &topology::PciDevice::address);
        return found != machine_.pci.end() ? link_text(found->link) : "";
    }

    static std::string line(std::string const& front, Leaf const& leaf) {
        std::string text = fmt::format("{}{:<6}  {}", front, leaf.label, leaf.address);
        for (std::string const& each : {leaf.link, leaf.text}) {
            if (!each.empty()) text += "  " + each;
        }
        return clipped(text, kColumns) + '\n';
    }

    Machine const& machine_;
};

/// "NVIDIA H100 80GB HBM3", or "GPU (sm 121)" if no file has its name.
std::string gpu_text(MachineGpu const& gpu) {
    if (!gpu.name.empty()) return printable(gpu.name);
    if (gpu.compute_capability <= 0) return "GPU";
    return fmt::format("GPU (sm {})", gpu.compute_capability);
}

std::string head(Machine const& machine) {
    std::vector<std::string> parts;
    if (machine.sockets > 0 && !machine.cpu_model.empty()) {
        parts.push_back(fmt::format("{} x {}", machine.sockets, printable(machine.cpu_model)));
    }
    if (machine.cores > 0) parts.push_back(fmt::format("{} cores", machine.cores));
    if (machine.memory_bytes > 0) parts.push_back(format_bytes(machine.memory_bytes));
    std::map<std::string, int> kinds;
    for (MachineGpu const& gpu : machine.gpus) ++kinds[gpu_text(gpu)];
    for (auto const& [name, count] : kinds) parts.push_back(fmt::format("{} x {}", count, name));
    if (machine.nvswitch) parts.push_back("NVSwitch");
    if (!machine.gpu_driver.empty()) parts.push_back("driver " + printable(machine.gpu_driver));
    if (parts.empty()) return "nothing is known of it\n";
    return filled(fmt::format("{}", fmt::join(parts, " · ")), 0, kColumns);
}

/// Interfaces without a card: the line "virtual  bond0 50 Gbit/s 10.1.1.7/24, docker0 down".
std::string virtual_line(Machine const& machine) {
    std::vector<std::string> words;
    for (Nic const& nic : machine.nics) {
        if (!nic.address.empty() || nic.interface == "lo") continue;
        std::string text = printable(nic.device.empty() ? nic.interface : nic.device);
        if (std::string const rate = rate_text(nic); !rate.empty()) text += " " + rate;
        if (!nic.addresses.empty()) text += " " + printable(nic.addresses.front());
        words.push_back(text);
    }
    if (words.empty()) return "";
    return filled(fmt::format("no card   {}", fmt::join(words, ", ")), 0, kColumns);
}

}  // namespace

std::string render_machine(Machine const& machine) {
    std::map<int, Branch> sockets;
    bool const one = machine.numa.size() == 1;
    auto const node_of = [&](int numa) { return numa < 0 && one ? machine.numa[0].id : numa; };
    for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
        MachineGpu const& gpu = machine.gpus[i];
        place(sockets[node_of(gpu.numa)], machine,
              {fmt::format("GPU{}", i), gpu.address, link_text(gpu.link), printable(gpu.name)});
    }
    for (Nic const& nic : machine.nics) {
        if (nic.address.empty()) continue;
        auto const name = printable(nic.device.empty() ? nic.interface : nic.device);
        place(sockets[node_of(nic.numa)], machine,
              {name, nic.address, link_text(nic.link), nic_text(nic)});
    }
    std::string text = head(machine);
    for (auto const& node : machine.numa) sockets[node.id];
    Picture picture(machine);
    for (auto const& [numa, branch] : sockets) {
        auto const node = std::ranges::find(machine.numa, numa, &topology::NumaNode::id);
        bool const cpus = node != machine.numa.end() && !node->cpus.empty();
        text += numa < 0 ? "NUMA node unknown"
                         : fmt::format("NUMA {}{}", numa, cpus ? "    cpus " + node->cpus : "");
        text += '\n' + picture.draw(branch, "");
    }
    return text + virtual_line(machine);
}

std::string render_paths(Machine const& machine) {
    auto const matrix = topology::path_matrix(machine);
    std::size_t const gpus = machine.gpus.size();
    std::string text;
    for (std::size_t first = 0; first < gpus; first += kGpuColumns) {
        std::size_t const end = std::min(first + kGpuColumns, gpus);
        if (first > 0) text += '\n';
        text += std::string(9, ' ');
        for (std::size_t i = first; i < end; ++i) {
            text += fmt::format(" {:<4}", matrix.devices[i].label);
        }
        text.erase(text.find_last_not_of(' ') + 1);
        for (std::size_t row = 0; row < matrix.devices.size(); ++row) {
            text += fmt::format("\n{:<9}", clipped(printable(matrix.devices[row].label), 9));
            for (std::size_t i = first; i < end; ++i) {
                std::size_t const width = std::max<std::size_t>(matrix.devices[i].label.size(), 4);
                text += fmt::format(" {:<{}}", path_word(matrix.paths[row][i]), width);
            }
            text.erase(text.find_last_not_of(' ') + 1);
        }
        text += '\n';
    }
    return text;
}

}  // namespace osora::cli
