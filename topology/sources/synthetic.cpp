// Each NUMA node of a machine has PCIe switches; a switch holds one GPU and the card beside it.
#include "topology/sources/synthetic.hpp"

#include "base/text/nearest.hpp"
#include "base/text/units.hpp"
#include "topology/fabric_links.hpp"
#include "topology/gpu_models.hpp"
#include "topology/sources/one_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

namespace osora::topology {
namespace {

constexpr std::int64_t kSyntheticNodesMax = 65536, kDevicesMax = 1 << 20;

struct NumberKey {
    std::string_view name;
    double max;
    bool whole = true;
};
constexpr auto kNumbers = std::to_array<NumberKey>({{"spine", 4096},
                                                    {"leaf", 65536},
                                                    {"node", 65536},
                                                    {"gpu", 64},
                                                    {"nic", 64},
                                                    {"socket", 64},
                                                    {"core", 65536},
                                                    {"block", 65536},
                                                    {"rate", 1e5, false},
                                                    {"up", 1e9, false}});
constexpr auto kTexts = std::to_array<std::string_view>({"model", "fabric", "name"});
constexpr auto kFabrics = std::to_array<std::string_view>({"infiniband", "roce", "ethernet"});

struct Words {
    std::map<std::string, double, std::less<>> numbers;
    std::map<std::string, std::string, std::less<>> texts;

    [[nodiscard]] double number(std::string_view key, double otherwise) const {
        auto const found = numbers.find(key);
        return found != numbers.end() ? found->second : otherwise;
    }
    [[nodiscard]] int count(std::string_view key, int otherwise) const {
        return static_cast<int>(number(key, otherwise));
    }
    [[nodiscard]] std::string text(std::string_view key, std::string otherwise) const {
        auto const found = texts.find(key);
        return found != texts.end() ? found->second : otherwise;
    }
};

Error bad(std::string_view word, std::string_view why) {
    return one_line(
        {Errc::invalid_input, fmt::format("synthetic: {}: {}", word.substr(0, 40), why)});
}

Error unknown_key(std::string_view word, std::string_view key) {
    std::vector<std::string_view> known(kTexts.begin(), kTexts.end());
    for (NumberKey const& each : kNumbers) known.push_back(each.name);
    auto const near = nearest_name(key, known);
    return bad(word, near ? fmt::format("unknown key; did you mean {}?", *near)
                          : std::string("unknown key; known: leaf node gpu nic spine socket core "
                                        "model rate fabric up block name"));
}

Result<void> read_word(std::string_view word, Words& words) {
    auto const colon = word.find(':');
    std::string_view const key = word.substr(0, colon);
    bool const is_text = std::ranges::find(kTexts, key) != kTexts.end();
    auto const* const number = std::ranges::find(kNumbers, key, &NumberKey::name);
    if (!is_text && number == kNumbers.end()) return unknown_key(word, key);
    if (colon == std::string_view::npos || colon + 1 == word.size()) {
        return bad(word, fmt::format("a value is missing: {}:{}", key, is_text ? "TEXT" : "8"));
    }
    std::string_view const value = word.substr(colon + 1);
    bool const is_new = !words.numbers.contains(key) && !words.texts.contains(key);
    if (!is_new) return bad(word, "is given twice");
    if (is_text) {
        words.texts.emplace(key, value);
        return {};
    }
    double read = 0;
    auto const [end, error] = std::from_chars(value.data(), value.data() + value.size(), read);
    bool const good = error == std::errc() && end == value.data() + value.size();
    if (!good || !std::isfinite(read) || (number->whole && read != std::floor(read))) {
        return bad(word, fmt::format("'{}' is no {}number", value.substr(0, 20),
                                     number->whole ? "whole " : ""));
    }
    if (read < 0 || read > number->max) {
        return bad(word, fmt::format("must be in 0..{:g}; nearest valid: {:g}", number->max,
                                     std::clamp(read, 0.0, number->max)));
    }
    words.numbers.emplace(key, read);
    return {};
}

/// The components of every node.
struct Recipe {
    int spines = 0, leaves = 0, nodes_per_leaf = 1, nodes = 1;
    int gpus = 0, nics = 1, sockets = 1, cores = 0, block = 0;
    double rate_gbit = 0, up_gbit = 0;
    GpuModel model;
    NicKind kind = NicKind::infiniband;
    std::string prefix;
};

Result<NicKind> fabric_kind(Words const& words) {
    std::string const name = words.text("fabric", "infiniband");
    if (name == "infiniband") return NicKind::infiniband;
    if (name == "roce") return NicKind::roce;
    if (name == "ethernet") return NicKind::ethernet;
    auto const near = nearest_name(name, kFabrics);
    return bad("fabric:" + name, fmt::format("is infiniband, roce or ethernet{}",
                                             near ? fmt::format("; did you mean {}?", *near) : ""));
}

Result<Recipe> recipe_of(Words const& words) {
    Recipe recipe;
    recipe.spines = words.count("spine", 0);
    recipe.leaves = words.count("leaf", 0);
    recipe.nodes_per_leaf = words.count("node", 1);
    std::int64_t const nodes = std::int64_t{std::max(recipe.leaves, 1)} * recipe.nodes_per_leaf;
    if (recipe.nodes_per_leaf == 0) return bad("node:0", "must be at least 1; nearest valid: 1");
    if (nodes > kSyntheticNodesMax) {
        return bad("node", fmt::format("{} nodes in all; at most {}", nodes, kSyntheticNodesMax));
    }
    recipe.nodes = static_cast<int>(nodes);
    recipe.gpus = words.count("gpu", 0);
    recipe.nics = words.count("nic", std::max(recipe.gpus, 1));
    if (nodes * (recipe.gpus + recipe.nics + 1) > kDevicesMax) {
        return bad("gpu", fmt::format("more than {} devices in all", kDevicesMax));
    }
    recipe.sockets = std::max(words.count("socket", recipe.gpus < 2 ? 1 : 2), 1);
    recipe.cores = words.count("core", 0);
    recipe.block = words.count("block", 0);
    std::string const model = words.text("model", "h100");
    auto const known = gpu_model_named(model);
    if (!known)
        return bad("model:" + model,
                   "unknown GPU; known are h100, h200, b200, a100, "
                   "v100, l40s, l4, t4, a10g, 3090, 4090");
    recipe.model = *known;
    OSORA_TRY(recipe.kind, fabric_kind(words));
    int const capability = known->compute_capability;
    recipe.rate_gbit = words.number("rate", capability >= 90 ? 400 : capability == 80 ? 200 : 100);
    recipe.up_gbit = words.number("up", recipe.rate_gbit * recipe.nics * recipe.nodes_per_leaf);
    recipe.prefix = words.text("name", "n");
    return recipe;
}

double pcie_gt_s(GpuModel const& model) {
    return model.compute_capability >= 90 ? 32 : model.compute_capability >= 80 ? 16 : 8;
}

int socket_of(Recipe const& recipe, int index, int count) {
    return static_cast<int>(std::int64_t{index} * recipe.sockets / std::max(count, 1));
}

void add_device(Machine& machine, PciDevice const& bridge, std::string const& address,
                char const* pci_class) {
    PciDevice device = bridge;
    device.parent = bridge.address;
    device.address = address;
    device.pci_class = pci_class;
    device.vendor = device.device = "";
    machine.pci.push_back(std::move(device));
}

MachineGpu gpu_of(Recipe const& recipe, PciDevice const& bridge, std::string address) {
    MachineGpu gpu;
    gpu.address = std::move(address);
    gpu.name = std::string(recipe.model.name);
    gpu.memory_bytes = recipe.model.memory_gib * kGiB;
    gpu.compute_capability = recipe.model.compute_capability;
    gpu.numa = bridge.numa;
    gpu.link = bridge.link;
    if (recipe.model.nvlinks > 4) gpu.nvlinks = {{"switch", recipe.model.nvlinks}};
    return gpu;
}

Nic nic_of(Recipe const& recipe, PciDevice const& bridge, std::string address, int index) {
    Nic nic;
    bool const rdma = recipe.kind != NicKind::ethernet;
    nic.device = rdma ? fmt::format("mlx5_{}", index) : "";
    nic.interface = fmt::format("{}{}", recipe.kind == NicKind::infiniband ? "ib" : "eth", index);
    nic.kind = recipe.kind;
    nic.address = std::move(address);
    nic.driver = "mlx5_core";
    nic.numa = bridge.numa;
    nic.link = bridge.link;
    nic.rate_gbit = recipe.rate_gbit;
    nic.up = true;
    return nic;
}

Machine machine_of(Recipe const& recipe) {
    Machine machine;
    machine.source = "synthetic";
    machine.sockets = recipe.sockets;
    machine.cores = recipe.cores;
    for (int i = 0; i < recipe.sockets; ++i) machine.numa.push_back({i, "", 0});
    double const speed = pcie_gt_s(recipe.model);
    int const switches = std::max(recipe.gpus, recipe.nics);
    for (int i = 0; i < switches; ++i) {
        PciDevice bridge;
        bridge.address = fmt::format("{:04x}:00:00.0", i);
        bridge.numa =
            i < recipe.gpus ? socket_of(recipe, i, recipe.gpus) : socket_of(recipe, i, recipe.nics);
        bridge.host = fmt::format("cpu{}", bridge.numa);
        bridge.pci_class = "0x060400";
        bridge.link = {speed, speed, 16, 16};
        machine.pci.push_back(bridge);
        if (i < recipe.gpus) {
            auto const address = fmt::format("{:04x}:01:00.0", i);
            machine.gpus.push_back(gpu_of(recipe, bridge, address));
            add_device(machine, bridge, address, "0x030200");
        }
        // Fewer cards than GPUs: spread over the switches.
        int const first = static_cast<int>(std::int64_t{i} * recipe.nics / switches);
        int const next = static_cast<int>((std::int64_t{i} + 1) * recipe.nics / switches);
        if (next == first) continue;
        auto const address = fmt::format("{:04x}:02:00.0", i);
        machine.nics.push_back(nic_of(recipe, bridge, address, first));
        add_device(machine, bridge, address, "0x020700");
    }
    machine.nvswitch = recipe.gpus > 1 && recipe.model.nvlinks > 4;
    return machine;
}

void add_switches(Recipe const& recipe, std::vector<std::string> const& nodes, Fabric& fabric) {
    for (int i = 0; i < recipe.leaves; ++i) {
        Switch leaf;
        leaf.name = fmt::format("leaf{}", i + 1);
        auto const first = nodes.begin() + std::ptrdiff_t{i} * recipe.nodes_per_leaf;
        leaf.nodes.assign(first, first + recipe.nodes_per_leaf);
        leaf.up_gbit = recipe.spines > 0 ? recipe.up_gbit : 0;
        fabric.switches.push_back(std::move(leaf));
    }
    for (int i = 0; i < recipe.spines; ++i) {
        Switch spine;
        spine.name = fmt::format("spine{}", i + 1);
        for (int leaf = 0; leaf < recipe.leaves; ++leaf) {
            spine.children.push_back(fmt::format("leaf{}", leaf + 1));
        }
        fabric.switches.push_back(std::move(spine));
    }
}

}  // namespace

Result<ClusterTopology> parse_synthetic(std::string_view text) {
    constexpr std::string_view kScheme = "synthetic:", kBetween = " ,\t\n";
    if (text.starts_with(kScheme)) text.remove_prefix(kScheme.size());
    Words words;
    while (true) {
        auto const begin = text.find_first_not_of(kBetween);
        if (begin == std::string_view::npos) break;
        text.remove_prefix(begin);
        auto const end = std::min(text.find_first_of(kBetween), text.size());
        OSORA_TRY_VOID(read_word(text.substr(0, end), words));
        text.remove_prefix(end);
    }
    if (words.numbers.empty()) return bad("empty", "for example synthetic:leaf:2 node:8 gpu:8");
    OSORA_TRY(auto const recipe, recipe_of(words));
    if (std::int64_t{recipe.spines} * recipe.leaves > kDevicesMax) {
        return bad("spine", "too many links between leaves and spines");
    }
    ClusterTopology cluster;
    std::vector<std::string> nodes;
    Machine const machine = machine_of(recipe);
    for (int i = 0; i < recipe.nodes; ++i) {
        nodes.push_back(fmt::format("{}{}", recipe.prefix, i + 1));
        cluster.machines.push_back(machine);
        cluster.machines.back().name = nodes.back();
        if (recipe.block == 0) continue;
        if (i % recipe.block == 0) {
            cluster.fabric.blocks.push_back({fmt::format("block{}", i / recipe.block + 1), {}});
        }
        cluster.fabric.blocks.back().nodes.push_back(nodes.back());
    }
    cluster.fabric.source = "synthetic";
    add_switches(recipe, nodes, cluster.fabric);
    cluster.fabric = linked_fabric(std::move(cluster.fabric));
    return cluster;
}

}  // namespace osora::topology
