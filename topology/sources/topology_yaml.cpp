// yaml-cpp throws; parse_topology_yaml() catches everything.
#include "topology/sources/topology_yaml.hpp"

#include "base/host_list.hpp"
#include "topology/fabric_links.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <vector>

namespace osora::topology {
namespace {

constexpr std::size_t kYamlBytesMax = 16 << 20, kNamesMax = 1 << 20;
constexpr auto kKinds = std::to_array<char const*>({"tree", "block", "flat", "ring", "torus3d"});

Error bad(YAML::Mark mark, std::string_view why) {
    if (mark.is_null()) return {Errc::invalid_input, std::string(why)};
    return {Errc::invalid_input, fmt::format("line {}: {}", mark.line + 1, why)};
}

Result<std::string> name_in(YAML::Node const& map, char const* key) {
    if (!map.IsMap()) return bad(map.Mark(), "expected a map");
    YAML::Node const value = map[key];
    if (!value || !value.IsScalar() || value.Scalar().empty()) {
        return bad(map.Mark(), fmt::format("'{}' is missing", key));
    }
    return value.Scalar();
}

/// A host list; empty if absent.
Result<std::vector<std::string>> hosts_in(YAML::Node const& map, char const* key) {
    YAML::Node const value = map[key];
    if (!value || value.IsNull()) return std::vector<std::string>();
    if (!value.IsScalar()) {
        return bad(value.Mark(), fmt::format("'{}' is one host list: n[1-4],n9", key));
    }
    auto names = expand_host_list(value.Scalar());
    if (names.has_error()) return bad(value.Mark(), names.error().message);
    return names;
}

/// Absent or without a value: empty, as tools write it before they know switches.
Result<std::vector<YAML::Node>> list_in(YAML::Node const& map, char const* key) {
    if (map.IsMap() && (!map[key] || map[key].IsNull())) return std::vector<YAML::Node>();
    if (!map.IsMap() || !map[key].IsSequence()) {
        return bad(map.Mark(), fmt::format("expected a list '{}'", key));
    }
    std::vector<YAML::Node> entries;
    for (YAML::Node const& entry : map[key]) entries.push_back(entry);
    return entries;
}

Result<void> read_tree(YAML::Node const& tree, Fabric& fabric) {
    std::size_t names = 0;
    OSORA_TRY(auto const switches, list_in(tree, "switches"));
    for (YAML::Node const& entry : switches) {
        Switch made;
        OSORA_TRY(made.name, name_in(entry, "switch"));
        OSORA_TRY(made.children, hosts_in(entry, "children"));
        OSORA_TRY(made.nodes, hosts_in(entry, "nodes"));
        names += made.children.size() + made.nodes.size();
        if (names > kNamesMax) return bad(entry.Mark(), "too many names");
        fabric.switches.push_back(std::move(made));
    }
    return {};
}

Result<void> read_groups(YAML::Node const& from, char const* list, char const* key,
                         Fabric& fabric) {
    std::size_t names = 0;
    OSORA_TRY(auto const groups, list_in(from, list));
    for (YAML::Node const& entry : groups) {
        Block block;
        OSORA_TRY(block.name, name_in(entry, key));
        OSORA_TRY(block.nodes, hosts_in(entry, "nodes"));
        names += block.nodes.size();
        if (names > kNamesMax) return bad(entry.Mark(), "too many names");
        fabric.blocks.push_back(std::move(block));
    }
    return {};
}

Result<void> read_block_sizes(YAML::Node const& block, Fabric& fabric) {
    YAML::Node const sizes = block["block_sizes"];
    if (!sizes) return {};
    if (!sizes.IsSequence()) return bad(sizes.Mark(), "expected a list 'block_sizes'");
    for (YAML::Node const& size : sizes) {
        int value = 0;
        if (!YAML::convert<int>::decode(size, value) || value <= 0) {
            return bad(size.Mark(), "a block size is a positive number");
        }
        fabric.block_sizes.push_back(value);
    }
    return {};
}

Result<void> read_kind(std::string_view kind, YAML::Node const& value, Fabric& fabric) {
    if (kind == "flat" || value.IsNull()) return {};
    if (!value.IsMap()) return bad(value.Mark(), fmt::format("'{}' is a map", kind));
    if (kind == "tree") return read_tree(value, fabric);
    if (kind == "block") {
        OSORA_TRY_VOID(read_block_sizes(value, fabric));
        return read_groups(value, "blocks", "block", fabric);
    }
    if (kind == "ring") {
        fabric.warnings.push_back(
            "a ring is read as a block: who is whose neighbour in it is not used");
        return read_groups(value, "rings", "ring", fabric);
    }
    fabric.warnings.push_back("a torus is not used: all nodes count as equally far");
    return {};
}

using Entries = std::vector<YAML::Node>;

/// All topologies of the file; each is a map with a name.
Result<Entries> entries_of(YAML::Node const& document) {
    if (!document.IsSequence() || document.size() == 0) {
        return bad(document.Mark(), "expected a list of topologies ('- topology: NAME')");
    }
    Entries entries;
    for (YAML::Node const& entry : document) {
        if (!entry.IsMap()) return bad(entry.Mark(), "expected a topology ('- topology: NAME')");
        OSORA_TRY_VOID(name_in(entry, "topology"));
        entries.push_back(entry);
    }
    return entries;
}

std::string name_of(YAML::Node const& entry) {
    return entry["topology"].Scalar();
}

bool is_default(YAML::Node const& entry) {
    bool value = false;
    YAML::Node const flag = entry["cluster_default"];
    return flag && YAML::convert<bool>::decode(flag, value) && value;
}

std::string names_of(Entries const& entries, std::size_t without) {
    std::string names;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (i != without) names += (names.empty() ? "" : ", ") + name_of(entries[i]);
    }
    return names;
}

/// The topology of that name; without a name the first default, else the first, as Slurm does.
Result<std::size_t> chosen_of(Entries const& entries, std::string_view name) {
    auto const found = std::ranges::find_if(entries, [&](YAML::Node const& each) {
        return name.empty() ? is_default(each) : name_of(each) == name;
    });
    if (found != entries.end()) return static_cast<std::size_t>(found - entries.begin());
    if (name.empty()) return std::size_t{0};
    return Error{Errc::invalid_input, fmt::format("no topology {}; there are {}", name,
                                                  names_of(entries, entries.size()))};
}

void warn_of_choice(Entries const& entries, std::size_t chosen, Fabric& fabric) {
    std::string const name = name_of(entries[chosen]);
    auto const defaults = std::ranges::count_if(entries, is_default);
    fabric.warnings.push_back(fmt::format(
        "of {} topologies, {} is read{}; --topology takes another: {}", entries.size(), name,
        defaults > 1 ? " (the first of several defaults)" : "", names_of(entries, chosen)));
}

void warn_of_nothing(std::string_view kind, std::string const& name, Fabric& fabric) {
    bool const names = kind == "tree" || kind == "block";
    if (!names || !fabric.switches.empty() || !fabric.blocks.empty()) return;
    fabric.warnings.push_back(
        fmt::format("topology {} names no {} yet", name, kind == "tree" ? "switches" : "blocks"));
}

Result<Fabric> read_document(YAML::Node const& document, std::string_view wanted) {
    OSORA_TRY(auto const entries, entries_of(document));
    OSORA_TRY(auto const index, chosen_of(entries, wanted));
    YAML::Node const chosen = entries[index];
    std::string const name = name_of(chosen);
    Fabric fabric;
    fabric.source = "topology.yaml: " + name;
    if (entries.size() > 1 && wanted.empty()) warn_of_choice(entries, index, fabric);
    for (char const* kind : kKinds) {
        if (!chosen[kind]) continue;
        OSORA_TRY_VOID(read_kind(kind, chosen[kind], fabric));
        warn_of_nothing(kind, name, fabric);
        return linked_fabric(std::move(fabric));
    }
    return bad(chosen.Mark(),
               fmt::format("topology {} has none of tree, block, flat, ring, torus3d", name));
}

}  // namespace

Result<Fabric> parse_topology_yaml(std::string_view text, std::string_view name) {
    if (text.size() > kYamlBytesMax) {
        return Error{Errc::invalid_input, "more than 16 MiB of topology.yaml"};
    }
    try {
        return read_document(YAML::Load(std::string(text)), name);
    } catch (YAML::Exception const& exception) {
        return bad(exception.mark, exception.msg);
    }
}

}  // namespace osora::topology
