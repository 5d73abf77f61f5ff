// Source of the formats: Slurm's topology.conf(5), topology guide, and src/plugins/topology.
#include "topology/sources/slurm_topology.hpp"

#include "base/host_list.hpp"
#include "base/text/nearest.hpp"
#include "base/text/text.hpp"
#include "topology/fabric_links.hpp"
#include "topology/sources/one_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>

namespace osora::topology {
namespace {

using NameList = std::vector<std::string>;

constexpr std::size_t kSwitchesMax = 65536, kListedNodesMax = 1 << 20;
constexpr auto kKeys = std::to_array<std::string_view>(
    {"switchname", "switches", "nodes", "linkspeed", "level", "blockname", "blocksizes",
     "blocksize", "blockindex", "aggregatedblock", "ringname"});

struct LogicalLine {
    int number = 0;
    std::string text;
};

/// Without comments and blank lines, continued lines joined.
std::vector<LogicalLine> logical_lines(std::string_view text) {
    std::vector<LogicalLine> lines;
    bool continued = false;
    for (int number = 1; !text.empty(); ++number) {
        std::size_t const end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        line = line.substr(0, line.find('#'));
        while (!line.empty() && std::string_view(" \t\r").find(line.back()) != line.npos) {
            line.remove_suffix(1);
        }
        bool const goes_on = line.ends_with('\\');
        if (goes_on) line.remove_suffix(1);
        if (!continued) lines.push_back({number, ""});
        lines.back().text += line;
        continued = goes_on;
    }
    std::erase_if(lines, [](LogicalLine const& line) {
        return line.text.find_first_not_of(" \t\r") == std::string::npos;
    });
    return lines;
}

using Keys = std::map<std::string, std::string>;  // lower case

/// "SwitchName=s1 Switches=l[1-2]"; an unknown key is an error with the nearest known one.
Result<Keys> keys_of(LogicalLine const& line) {
    Keys keys;
    std::string_view rest = line.text;
    while (true) {
        auto const begin = rest.find_first_not_of(" \t\r");
        if (begin == std::string_view::npos) return keys;
        rest.remove_prefix(begin);
        auto const end = std::min(rest.find_first_of(" \t\r"), rest.size());
        std::string_view const word = rest.substr(0, end);
        rest.remove_prefix(end);
        auto const equals = word.find('=');
        std::string const key = lower(word.substr(0, equals));
        auto const shown = word.substr(0, 40);
        if (equals == std::string_view::npos) {
            return bad_line(line.number, fmt::format("'{}' is no KEY=VALUE", shown));
        }
        if (std::ranges::find(kKeys, key) == kKeys.end()) {
            auto const near = nearest_name(key, kKeys);
            return bad_line(line.number,
                            fmt::format("unknown key {}{}", shown.substr(0, shown.find('=')),
                                        near ? fmt::format("; did you mean {}?", *near) : ""));
        }
        std::string_view value = word.substr(equals + 1);
        if (value == "(null)") value = "";
        keys[key] = std::string(value);
    }
}

/// What was read from one text so far.
struct Reading {
    Fabric fabric;
    std::size_t nodes = 0;
    bool rings = false;
};

Result<NameList> names_of(Reading& reading, Keys const& keys, char const* key) {
    auto const found = keys.find(key);
    if (found == keys.end()) return NameList{};
    OSORA_TRY(auto names, expand_host_list(found->second));
    reading.nodes += names.size();
    if (reading.nodes > kListedNodesMax) {
        return Error{Errc::invalid_input, fmt::format("more than {} names", kListedNodesMax)};
    }
    return names;
}

Result<void> read_sizes(Reading& reading, std::string_view list) {
    while (!list.empty()) {
        auto const comma = std::min(list.find(','), list.size());
        int size = 0;
        auto const [end, error] = std::from_chars(list.data(), list.data() + comma, size);
        if (error != std::errc() || end != list.data() + comma || size <= 0) {
            return Error{Errc::invalid_input,
                         fmt::format("'{}' is no block size", list.substr(0, comma))};
        }
        reading.fabric.block_sizes.push_back(size);
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return {};
}

Result<void> read_keys(Reading& reading, Keys const& keys) {
    if (auto const name = keys.find("switchname"); name != keys.end()) {
        OSORA_TRY(auto const switches, expand_host_list(name->second));
        OSORA_TRY(auto const children, names_of(reading, keys, "switches"));
        OSORA_TRY(auto const nodes, names_of(reading, keys, "nodes"));
        if (switches.size() != 1) return Error{Errc::invalid_input, "SwitchName= is one name"};
        Switch made;
        made.name = switches.front();
        made.children = children;
        made.nodes = nodes;
        reading.fabric.switches.push_back(std::move(made));
        return {};
    }
    for (char const* key : {"blockname", "ringname", "aggregatedblock"}) {
        auto const name = keys.find(key);
        if (name == keys.end()) continue;
        if (name->second.empty()) return Error{Errc::invalid_input, "an empty name"};
        OSORA_TRY(auto const nodes, names_of(reading, keys, "nodes"));
        // Blocks of blocks: their nodes are those of blocks that have a separate line.
        if (key == std::string_view("aggregatedblock")) return {};
        reading.rings |= key == std::string_view("ringname");
        reading.fabric.blocks.push_back({name->second, nodes});
        return {};
    }
    if (auto const sizes = keys.find("blocksizes"); sizes != keys.end()) {
        return read_sizes(reading, sizes->second);
    }
    return Error{Errc::invalid_input,
                 "starts with none of SwitchName=, BlockName=, BlockSizes=, "
                 "RingName="};
}

void warn_of_blocks(Reading& reading) {
    std::map<std::string, std::string> block_of;
    Fabric& fabric = reading.fabric;
    for (Block& block : fabric.blocks) {
        std::erase_if(block.nodes, [&](std::string const& node) {
            auto const [at, is_new] = block_of.try_emplace(node, block.name);
            if (!is_new && fabric.warnings.size() < 20) {
                fabric.warnings.push_back(fmt::format("node {} is in blocks {} and {}: {} is taken",
                                                      node, at->second, block.name, at->second));
            }
            return !is_new;
        });
    }
    if (reading.rings) {
        fabric.warnings.push_back(
            "a ring is read as a block: who is whose neighbour in it is not used");
    }
}

std::vector<std::string> parts_of(std::string_view text) {
    std::vector<std::string> parts;
    int depth = 0;
    std::string part;
    for (char const each : text) {
        depth += each == '[' ? 1 : each == ']' ? -1 : 0;
        if (each == '.' && depth <= 0) {
            parts.push_back(std::exchange(part, {}));
        } else {
            part += each;
        }
    }
    parts.push_back(part);
    return parts;
}

Switch& switch_named(Fabric& fabric, std::string const& name) {
    auto const found = std::ranges::find(fabric.switches, name, &Switch::name);
    if (found != fabric.switches.end()) return *found;
    fabric.switches.push_back({});
    fabric.switches.back().name = name;
    return fabric.switches.back();
}

Result<void> add_address(Fabric& fabric, TopologyAddress const& address) {
    auto const parts = parts_of(address.first);
    auto const kinds = parts_of(address.second);
    if (parts.size() != kinds.size() || parts.size() > 32) {
        return Error{Errc::invalid_input,
                     fmt::format("address '{}' does not fit the pattern '{}'",
                                 address.first.substr(0, 80), address.second.substr(0, 80))};
    }
    NameList above;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        OSORA_TRY(auto const names, expand_host_list(parts[i]));
        if (names.empty() || names.size() > 1024) {
            return Error{Errc::invalid_input, fmt::format("address '{}': a level without a name",
                                                          address.first.substr(0, 80))};
        }
        if (kinds[i] == "switch") {
            for (std::string const& name : names) (void)switch_named(fabric, name);
            for (std::string const& parent : above) {
                auto& children = switch_named(fabric, parent).children;
                children.insert(children.end(), names.begin(), names.end());
            }
            above = names;
        } else if (kinds[i] == "block" && i + 1 < parts.size()) {
            auto found = std::ranges::find(fabric.blocks, names.front(), &Block::name);
            if (found == fabric.blocks.end()) {
                found = fabric.blocks.insert(found, {names.front(), {}});
            }
            found->nodes.push_back(parts.back());
        } else if (kinds[i] == "node") {
            if (!above.empty()) switch_named(fabric, above.front()).nodes.push_back(parts[i]);
        } else {
            return Error{Errc::invalid_input,
                         fmt::format("pattern '{}': a level is switch, block or node",
                                     address.second.substr(0, 80))};
        }
    }
    return {};
}

}  // namespace

Result<Fabric> parse_slurm_topology(std::string_view text, std::string source) {
    Reading reading;
    reading.fabric.source = std::move(source);
    for (LogicalLine const& line : logical_lines(text)) {
        OSORA_TRY(auto const keys, keys_of(line));
        if (auto const read = read_keys(reading, keys); read.has_error()) {
            return bad_line(line.number, read.error().message);
        }
        if (reading.fabric.switches.size() > kSwitchesMax) {
            return bad_line(line.number, fmt::format("more than {} switches", kSwitchesMax));
        }
    }
    if (reading.fabric.switches.empty() && reading.fabric.blocks.empty()) {
        return Error{Errc::invalid_input, "no line with SwitchName=, BlockName= or RingName="};
    }
    warn_of_blocks(reading);
    return linked_fabric(std::move(reading.fabric));
}

Result<Fabric> parse_topology_addresses(std::vector<TopologyAddress> const& nodes) {
    Fabric fabric;
    fabric.source = "SLURM_TOPOLOGY_ADDR";
    for (TopologyAddress const& node : nodes) OSORA_TRY_VOID(add_address(fabric, node));
    return linked_fabric(std::move(fabric));
}

}  // namespace osora::topology
