#include "topology/sources/source_kind.hpp"

#include "topology/sources/ibnetdiscover.hpp"
#include "topology/sources/nccl_xml.hpp"
#include "topology/sources/one_line.hpp"
#include "topology/sources/slurm_topology.hpp"
#include "topology/sources/topology_yaml.hpp"

#include <algorithm>

namespace osora::topology {
namespace {

/// The kind that one line without its indent implies.
SourceKind kind_of_line(std::string_view line) {
    auto const starts = [&](std::string_view key) {
        return line.size() >= key.size() &&
               std::ranges::equal(line.substr(0, key.size()), key, [](char a, char b) {
                   return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + ('a' - 'A')) : a) == b;
               });
    };
    if (starts("<")) return SourceKind::nccl_xml;
    if (starts("{")) return SourceKind::json;
    for (std::string_view const key : {"switchname=", "blockname=", "blocksizes=", "ringname="}) {
        if (starts(key)) return SourceKind::slurm;
    }
    if (starts("---") || starts("- topology") || starts("topology:")) return SourceKind::yaml;
    bool const section = starts("switch\t") || starts("switch ") || starts("ca\t") || starts("ca ");
    if (section && line.find('"') != std::string_view::npos) return SourceKind::ibnetdiscover;
    return SourceKind::unknown;
}

}  // namespace

SourceKind source_kind(std::string_view text) {
    // ibnetdiscover's output starts with comments and keys.
    constexpr int kLinesMax = 1000;
    for (int i = 0; i < kLinesMax && !text.empty(); ++i) {
        std::size_t const end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        line.remove_prefix(std::min(line.find_first_not_of(" \t\r\xef\xbb\xbf"), line.size()));
        if (auto const kind = kind_of_line(line); kind != SourceKind::unknown) return kind;
    }
    return SourceKind::unknown;
}

namespace {

Result<ClusterTopology> parse_kind(std::string_view text, ParseChoice const& choice) {
    ClusterTopology cluster;
    auto const kind = source_kind(text);
    if (kind != SourceKind::yaml && kind != SourceKind::unknown && !choice.topology.empty()) {
        return Error{Errc::invalid_input,
                     fmt::format("no topology {} to choose: only a topology.yaml names several",
                                 choice.topology)};
    }
    switch (kind) {
        case SourceKind::nccl_xml: {
            OSORA_TRY(auto machine, parse_nccl_xml(text, choice.machine));
            cluster.machines.push_back(std::move(machine));
            return cluster;
        }
        case SourceKind::ibnetdiscover: {
            OSORA_TRY(cluster.fabric, parse_ibnetdiscover(text));
            return cluster;
        }
        case SourceKind::slurm: {
            OSORA_TRY(cluster.fabric, parse_slurm_topology(text, "topology.conf"));
            return cluster;
        }
        case SourceKind::yaml: {
            OSORA_TRY(cluster.fabric, parse_topology_yaml(text, choice.topology));
            return cluster;
        }
        default:
            break;
    }
    return Error{Errc::invalid_input,
                 "neither NCCL's XML, topology.conf, topology.yaml, the output of scontrol show "
                 "topology or ibnetdiscover, nor JSON of osora topology import"};
}

}  // namespace

Result<ClusterTopology> parse_topology_text(std::string_view text, ParseChoice const& choice) {
    auto parsed = parse_kind(text, choice);
    if (parsed.has_error()) return one_line(parsed.error());
    return parsed;
}

}  // namespace osora::topology
