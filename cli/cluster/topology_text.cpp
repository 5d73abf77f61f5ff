// The fabric and the summary; machines are in machine_text.cpp.
#include "cli/cluster/topology_text.hpp"

#include "base/host_list.hpp"
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "cli/text/terminal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace osora::cli {
namespace {

using topology::ClusterTopology;
using topology::Difference;
using topology::Fabric;
using topology::Machine;
using topology::Switch;

constexpr std::size_t kKindsMax = 4, kChildrenMax = 16;

/// Folded names, cut to `columns` with their number when they are too long.
std::string folded(std::vector<std::string> const& names, int columns) {
    std::string const text = printable(fold_hosts(names));
    if (display_width(text) <= columns) return text;
    std::string const count = fmt::format("... ({})", names.size());
    return clipped(text, std::max(columns - display_width(count), 8)) + count;
}

/// Switches that look alike from above: the same switches below and the same above.
struct Level {
    std::vector<std::string> names;
    Switch const* like = nullptr;
};

class FabricTree {
public:
    explicit FabricTree(Fabric const& fabric) {
        for (Switch const& each : fabric.switches) by_name_[each.name] = &each;
        std::vector<Switch const*> tops;
        for (Switch const& each : fabric.switches) {
            if (each.parents.empty()) tops.push_back(&each);
        }
        draw(alike(tops), "", true);
    }
    [[nodiscard]] std::string text() && { return std::move(text_); }

private:
    static std::vector<Level> alike(std::vector<Switch const*> const& switches) {
        std::vector<Level> levels;
        std::map<std::pair<std::vector<std::string>, std::vector<std::string>>, std::size_t> known;
        for (Switch const* each : switches) {
            if (each->nodes.empty()) {
                auto const [at, is_new] =
                    known.try_emplace({each->children, each->parents}, levels.size());
                if (!is_new) {
                    levels[at->second].names.push_back(each->name);
                    continue;
                }
            }
            levels.push_back({{each->name}, each});
        }
        return levels;
    }

    void draw(std::vector<Level> const& levels, std::string const& indent, bool top) {
        std::size_t const shown = levels.size() > kChildrenMax + 2 ? kChildrenMax : levels.size();
        for (std::size_t i = 0; i < shown; ++i) {
            bool const last = i + 1 == levels.size();
            std::string const branch = top ? "" : last ? "└─ " : "├─ ";
            line(levels[i], indent + branch);
            children(levels[i], indent + (top ? "" : last ? "   " : "│  "));
        }
        if (shown == levels.size()) return;
        std::size_t nodes = 0;
        for (std::size_t i = shown; i < levels.size(); ++i) nodes += levels[i].like->nodes.size();
        text_ += fmt::format("{}{}{} more with {}\n", indent, top ? "" : "└─ ",
                             levels.size() - shown, counted(nodes, "node"));
    }

    void line(Level const& level, std::string const& front) {
        std::string text = front + folded(level.names, 30);
        auto const& nodes = level.like->nodes;
        if (!nodes.empty()) {
            text += "  " + folded(nodes, 36) + fmt::format("  {}", counted(nodes.size(), "node"));
        }
        double const up = level.like->up_gbit;
        if (up > 0) text += fmt::format("  {:g} Gbit/s up", up);
        text_ += text + '\n';
    }

    void children(Level const& level, std::string const& indent) {
        std::vector<Switch const*> below;
        for (std::string const& name : level.like->children) {
            auto const found = by_name_.find(name);
            if (found != by_name_.end() && drawn_.insert(name).second) {
                below.push_back(found->second);
            }
        }
        // Files may hold anything; the levels that linked_fabric() made are few.
        if (indent.size() < 300) draw(alike(below), indent, false);
    }

    std::map<std::string, Switch const*> by_name_;
    std::set<std::string> drawn_;
    std::string text_;
};

std::string summary(ClusterTopology const& cluster) {
    std::set<std::string> nodes;
    std::map<int, std::size_t> levels;
    for (Switch const& each : cluster.fabric.switches) {
        ++levels[each.level];
        nodes.insert(each.nodes.begin(), each.nodes.end());
    }
    for (auto const& block : cluster.fabric.blocks) {
        nodes.insert(block.nodes.begin(), block.nodes.end());
    }
    std::size_t gpus = 0, cards = 0, interfaces = 0;
    for (Machine const& machine : cluster.machines) {
        nodes.insert(machine.name);
        gpus += machine.gpus.size();
        for (topology::Nic const& nic : machine.nics) {
            ++(nic.device.empty() ? interfaces : cards);
            if (nic.interface == "lo") --interfaces;
        }
    }
    std::vector<std::string> parts{counted(nodes.size(), "node")};
    for (auto const& [level, count] : levels) {
        parts.push_back(level == 0   ? fmt::format("{} {}", count, count == 1 ? "leaf" : "leaves")
                        : level == 1 ? counted(count, "spine")
                                     : counted(count, fmt::format("level-{} switch", level)));
    }
    if (!cluster.fabric.blocks.empty()) {
        parts.push_back(counted(cluster.fabric.blocks.size(), "block"));
    }
    if (!cluster.machines.empty()) {
        parts.push_back(counted(gpus, "GPU"));
        bool const rdma = cards > 0;
        parts.push_back(rdma ? counted(cards, "RDMA card") : counted(interfaces, "interface"));
    }
    return fmt::format("{}\n", fmt::join(parts, " · "));
}

std::vector<std::string> names_of(std::vector<Machine> const& machines,
                                  std::vector<std::size_t> const& members) {
    std::vector<std::string> names;
    for (std::size_t const member : members) names.push_back(machines[member].name);
    return names;
}

}  // namespace

std::string render_fabric(Fabric const& fabric) {
    std::string text;
    if (!fabric.switches.empty()) text += FabricTree(fabric).text();
    std::size_t shown = 0;
    for (auto const& block : fabric.blocks) {
        if (++shown > kChildrenMax) {
            text += fmt::format("... {} more blocks\n", fabric.blocks.size() - kChildrenMax);
            break;
        }
        text += fmt::format("{}  {}  {}\n", printable(block.name), folded(block.nodes, 44),
                            counted(block.nodes.size(), "node"));
    }
    for (std::string const& warning : fabric.warnings) {
        text += filled("warning: " + printable(warning), 0, kColumns);
    }
    return text;
}

std::string render_topology(ClusterTopology const& cluster) {
    std::string text = summary(cluster);
    std::string const fabric = render_fabric(cluster.fabric);
    if (!fabric.empty()) text += "\n" + fabric;
    auto const groups = topology::group_machines(cluster.machines);
    for (std::size_t i = 0; i < groups.size() && i < kKindsMax; ++i) {
        Machine const& first = cluster.machines[groups[i].members.front()];
        auto const names = names_of(cluster.machines, groups[i].members);
        text += fmt::format("\n{}{}\n", folded(names, 60),
                            names.size() > 1 ? fmt::format("  {} alike", names.size()) : "");
        if (i > 0) {
            text += render_differences("", groups[i].differences);
            continue;
        }
        text += render_machine(first);
        std::string const paths = render_paths(first);
        if (!paths.empty()) text += "\n" + paths;
    }
    if (groups.size() > kKindsMax) {
        text += fmt::format("\n{} more kinds of nodes: osora topology diff shows them\n",
                            groups.size() - kKindsMax);
    }
    return text;
}

std::string render_differences(std::string const& where,
                               std::vector<Difference> const& differences) {
    std::string text;
    std::string front = where.empty() ? "  " : where + "  ";
    std::string effect;
    for (Difference const& each : differences) {
        // An effect that several differences share is printed once, below the last of them.
        if (!effect.empty() && effect != each.effect) text += filled(effect, 4, kColumns);
        effect = each.effect;
        std::string const change = printable(each.reference) + " -> " + printable(each.other);
        std::string const line = front + printable(each.path) + "  " + change;
        if (display_width(line) <= kColumns) {
            text += line + '\n';
        } else {
            text += front + printable(each.path) + '\n' + filled(change, 4, kColumns);
        }
        front = "  ";
    }
    if (!effect.empty()) text += filled(effect, 4, kColumns);
    return text;
}

}  // namespace osora::cli
