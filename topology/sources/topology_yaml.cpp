// yaml-cpp throws; everything it may throw is caught in parse_topology_yaml().
#include "topology/sources/topology_yaml.hpp"

#include "base/host_list.hpp"
#include "topology/fabric_links.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <array>

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

/// A host list; absent: none.
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

Result<std::vector<YAML::Node>> list_in(YAML::Node const& map, char const* key) {
    if (!map.IsMap() || !map[key] || !map[key].IsSequence()) {
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
    if (kind == "flat") return {};
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

Result<Fabric> read_document(YAML::Node const& document) {
    if (!document.IsSequence() || document.size() == 0) {
        return bad(document.Mark(), "expected a list of topologies ('- topology: NAME')");
    }
    YAML::Node chosen = document[0];
    for (YAML::Node const& entry : document) {
        if (!entry.IsMap()) return bad(entry.Mark(), "expected a topology ('- topology: NAME')");
        bool is_default = false;
        YAML::Node const value = entry["cluster_default"];
        if (value && YAML::convert<bool>::decode(value, is_default) && is_default) chosen = entry;
    }
    Fabric fabric;
    OSORA_TRY(auto const name, name_in(chosen, "topology"));
    fabric.source = "topology.yaml: " + name;
    if (document.size() > 1) {
        fabric.warnings.push_back(
            fmt::format("of {} topologies, {} is read", document.size(), name));
    }
    for (char const* kind : kKinds) {
        if (!chosen[kind]) continue;
        OSORA_TRY_VOID(read_kind(kind, chosen[kind], fabric));
        return linked_fabric(std::move(fabric));
    }
    return bad(chosen.Mark(),
               fmt::format("topology {} has none of tree, block, flat, ring, torus3d", name));
}

}  // namespace

Result<Fabric> parse_topology_yaml(std::string_view text) {
    if (text.size() > kYamlBytesMax) {
        return Error{Errc::invalid_input, "more than 16 MiB of topology.yaml"};
    }
    try {
        return read_document(YAML::Load(std::string(text)));
    } catch (YAML::Exception const& exception) {
        return bad(exception.mark, exception.msg);
    }
}

}  // namespace osora::topology
