#include "topology/nccl/nccl_graphs.hpp"

#include "base/text/nearest.hpp"
#include "topology/csv_table.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <tuple>

namespace osora::topology {
namespace {

constexpr std::array<std::string_view, 15> kColumns{
    "topo",         "nNodes",    "nRanks",    "cpuArch",      "cpuVendor",
    "minCompCap",   "graph",     "pattern",   "nChannels",    "bwIntra_GBps",
    "bwInter_GBps", "typeIntra", "typeInter", "sameChannels", "commChannels"};
constexpr std::array<std::string_view, 10> kPaths{"LOC", "NVL", "NVB", "C2C", "PIX",
                                                  "PXB", "P2C", "PXN", "PHB", "SYS"};
constexpr std::array<std::string_view, 5> kGraphs{"ring", "tree", "nvls", "collnetdirect",
                                                  "collnetchain"};
constexpr double kGbpsMax = 1e6;
constexpr int kChannelsMax = 1024;

Result<NcclPath> path_in(CsvTable const& table, std::string_view column) {
    std::string_view const text = table.text(column);
    for (std::size_t i = 0; i < kPaths.size(); ++i) {
        if (text == kPaths[i]) return static_cast<NcclPath>(i);
    }
    return table.error(
        fmt::format("{} = '{:.40}': not one of LOC NVL NVB C2C PIX PXB P2C PXN PHB "
                    "SYS",
                    column, text));
}

Result<NcclGraph> graph_in(CsvTable const& table) {
    NcclGraph graph;
    OSORA_TRY(auto const pattern, table.integer("pattern", 0, 100));
    OSORA_TRY(auto const channels, table.integer("nChannels", 0, kChannelsMax));
    OSORA_TRY(graph.intra_gbps, table.number("bwIntra_GBps", 0, kGbpsMax));
    OSORA_TRY(graph.inter_gbps, table.number("bwInter_GBps", 0, kGbpsMax));
    OSORA_TRY(graph.intra, path_in(table, "typeIntra"));
    OSORA_TRY(graph.inter, path_in(table, "typeInter"));
    OSORA_TRY(auto const same, table.integer("sameChannels", 0, 1));
    if (!table.text("latencyInter_us").empty()) {
        OSORA_TRY(graph.inter_latency_us, table.number("latencyInter_us", 0, 1e6));
    }
    graph.pattern = static_cast<int>(pattern);
    graph.channels = static_cast<int>(channels);
    graph.same_channels = same == 1;
    return graph;
}

/// The group without its graphs.
Result<NcclGroup> group_in(CsvTable const& table) {
    NcclGroup group;
    group.topology = table.text("topo");
    OSORA_TRY(auto const nodes, table.integer("nNodes", 1, 1 << 20));
    OSORA_TRY(auto const ranks, table.integer("nRanks", 1, 1 << 20));
    OSORA_TRY(auto const arch, table.integer("cpuArch", -1, 100));
    OSORA_TRY(auto const vendor, table.integer("cpuVendor", -1, 100));
    OSORA_TRY(auto const capability, table.integer("minCompCap", 10, 1000));
    OSORA_TRY(auto const channels, table.integer("commChannels", 0, 2 * kChannelsMax));
    group.shape = {static_cast<int>(ranks), static_cast<int>(nodes)};
    if (auto const good = check_shape(group.shape); good.has_error()) {
        return table.error(good.error().message);
    }
    group.cpu_arch = static_cast<int>(arch);
    group.cpu_vendor = static_cast<int>(vendor);
    group.min_compute_capability = static_cast<int>(capability);
    group.channels = static_cast<int>(channels);
    return group;
}

std::string plain_name_of(std::string_view name) {
    std::string text;
    for (char const c : name) {
        if (c == '_' || c == '-') continue;
        text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return text;
}

/// The member for a graph of that name; nullptr: there is none.
std::optional<NcclGraph>* slot_of(NcclGroup& group, std::string_view name) {
    std::string const text = plain_name_of(name);
    std::optional<NcclGraph>* const slots[] = {&group.ring, &group.tree, &group.nvls,
                                               &group.collnet_direct, &group.collnet_chain};
    for (std::size_t i = 0; i < kGraphs.size(); ++i) {
        if (text == kGraphs[i]) return slots[i];
    }
    return nullptr;
}

Result<void> add_graph(CsvTable const& table, NcclGroup& group) {
    std::string_view const name = table.text("graph");
    auto* const slot = slot_of(group, name);
    if (slot == nullptr) {
        auto const nearest = nearest_name(plain_name_of(name), kGraphs);
        return table.error(fmt::format("graph '{:.40}' is not known; nearest: {}", name,
                                       nearest ? *nearest : "ring, tree, nvls"));
    }
    OSORA_TRY(NcclGraph const graph, graph_in(table));
    if (*slot && **slot != graph)
        return table.error(fmt::format("graph '{}' is listed twice, with other values", name));
    if (graph.channels > 0) *slot = graph;
    return {};
}

auto machine_of(NcclGroup const& group) {
    return std::tie(group.cpu_arch, group.cpu_vendor, group.min_compute_capability, group.channels);
}

}  // namespace

Result<std::vector<NcclGroup>> parse_nccl_graphs(std::string_view csv) {
    OSORA_TRY(CsvTable table, CsvTable::open(csv, kColumns));
    std::vector<NcclGroup> groups;
    std::map<std::pair<std::string, GroupShape>, std::size_t> places;
    for (;;) {
        OSORA_TRY(bool const more, table.next());
        if (!more) break;
        OSORA_TRY(NcclGroup group, group_in(table));
        auto const [at, is_new] = places.try_emplace({group.topology, group.shape}, groups.size());
        if (is_new) {
            groups.push_back(std::move(group));
        } else if (machine_of(group) != machine_of(groups[at->second])) {
            return table.error(
                "cpuArch, cpuVendor, minCompCap or commChannels differ from an "
                "earlier row of the group");
        }
        OSORA_TRY_VOID(add_graph(table, groups[at->second]));
    }
    return groups;
}

}  // namespace osora::topology
