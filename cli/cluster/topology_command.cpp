// osora topology show, diff, import: the cluster, and how its nodes differ.
#include "base/files/files.hpp"
#include "base/host_list.hpp"
#include "cli/cluster/topology_text.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/plan/topology_source.hpp"
#include "topology/fabric_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace osora::cli {
namespace {

using topology::ClusterTopology;
using topology::Difference;
using topology::MachineGroup;

constexpr std::string_view kSourceHelp =
    "A folder, a file or synthetic:...; without it this machine and Slurm's fabric.";

int refuse(Error const& error) {
    bool const input = error.code == Errc::invalid_input || error.code == Errc::not_found ||
                       error.code == Errc::io;
    return fail(input ? kExitUsage : exit_code_for(error.code), error);
}

Result<ClusterTopology> load_source(Context const& context, Arguments const& arguments) {
    return load_topology(context, arguments.value("SOURCE").value_or(""),
                         arguments.value("--topology").value_or(""));
}

OptionSpec topology_option() {
    return {.name = "--topology",
            .value = "NAME",
            .help =
                "Which of several topologies of a topology.yaml or of Slurm; without it the "
                "default one."};
}

int run_show(Context const& context, Arguments const& arguments) {
    auto const cluster = load_source(context, arguments);
    if (cluster.has_error()) return refuse(cluster.error());
    if (arguments.has("--json")) {
        cli::print("{}\n", topology_json(*cluster));
    } else {
        cli::print("{}", render_topology(*cluster));
    }
    return kExitOk;
}

int run_topology_import(Context const& context, Arguments const& arguments) {
    auto const cluster = load_source(context, arguments);
    if (cluster.has_error()) return refuse(cluster.error());
    std::string const text = topology_json(*cluster) + "\n";
    auto const file = arguments.value("--output");
    if (!file) {
        cli::print("{}", text);
        return kExitOk;
    }
    if (auto const written = write_file_atomic(*file, text); written.has_error()) {
        return refuse(written.error());
    }
    std::size_t const machines = cluster->machines.size();
    std::size_t const switches = cluster->fabric.switches.size();
    if (arguments.has("--json")) {
        print_json("topology_import",
                   {{"file", *file}, {"machines", machines}, {"switches", switches}});
    } else {
        cli::print("wrote {}: {} nodes in detail, {} switches\n", *file, machines, switches);
    }
    return kExitOk;
}

/// Nodes that should be alike, and how they and their places in the fabric differ.
struct Comparison {
    std::vector<topology::Machine> machines;
    std::vector<MachineGroup> groups;
    std::vector<Difference> others;  // nodes of the fabric that only one side has

    [[nodiscard]] bool equal() const { return groups.size() <= 1 && others.empty(); }
    [[nodiscard]] std::vector<std::string> names(MachineGroup const& group) const {
        std::vector<std::string> names;
        for (std::size_t const member : group.members) names.push_back(machines[member].name);
        return names;
    }
};

/// Two single machines are compared whatever their names; clusters are compared node by node.
Comparison compare(ClusterTopology const& reference, ClusterTopology const& other) {
    Comparison result;
    result.others = topology::diff_fabrics(reference.fabric, other.fabric);
    auto const& ours = reference.machines;
    auto const& theirs = other.machines;
    bool const single = ours.size() == 1 && theirs.size() == 1;
    std::map<std::string, topology::Machine const*> by_name;
    for (auto const& machine : theirs) by_name[machine.name] = &machine;
    for (auto const& machine : ours) {
        auto const same = by_name.find(machine.name);
        if (!single && same == by_name.end()) {
            result.others.push_back({"node." + machine.name, "there", "missing", "", true});
            continue;
        }
        topology::Machine const& now = single ? theirs.front() : *same->second;
        by_name.erase(now.name);
        auto differences = topology::diff_machines(machine, now);
        if (differences.empty()) continue;
        if (result.groups.empty()) result.groups.emplace_back();
        result.machines.push_back(now);
        std::size_t const member = result.machines.size() - 1;
        auto const alike =
            std::ranges::find(result.groups, differences, &MachineGroup::differences);
        if (alike != result.groups.end()) {
            alike->members.push_back(member);
        } else {
            result.groups.push_back({{member}, std::move(differences)});
        }
    }
    if (single) return result;
    for (auto const& [name, machine] : by_name) {
        result.others.push_back({"node." + name, "missing", "there", "", false});
    }
    return result;
}

Comparison compare_nodes(ClusterTopology cluster) {
    Comparison result;
    result.groups = topology::group_machines(cluster.machines);
    result.machines = std::move(cluster.machines);
    return result;
}

void print_comparison_json(Comparison const& comparison) {
    protocol::json::array groups;
    for (std::size_t i = 1; i < comparison.groups.size(); ++i) {
        auto const& group = comparison.groups[i];
        groups.push_back({{"nodes", protocol::to_json(comparison.names(group))},
                          {"differences", protocol::to_json(group.differences)}});
    }
    std::vector<std::string> reference;
    if (!comparison.groups.empty()) reference = comparison.names(comparison.groups.front());
    print_json("topology_diff", {{"equal", comparison.equal()},
                                 {"reference", protocol::to_json(reference)},
                                 {"groups", std::move(groups)},
                                 {"fabric", protocol::to_json(comparison.others)}});
}

std::string comparison_text(Comparison const& comparison, std::string const& head) {
    std::string text = head;
    for (std::size_t i = 1; i < comparison.groups.size(); ++i) {
        auto const& group = comparison.groups[i];
        text += "\n" + fold_hosts(comparison.names(group)) + "\n";
        text += render_differences("", group.differences);
    }
    if (!comparison.others.empty()) text += "\n" + render_differences("", comparison.others);
    return text;
}

std::string head_of_nodes(Comparison const& comparison) {
    std::size_t const all = comparison.machines.size();
    auto const& alike = comparison.groups.front();
    if (comparison.equal()) return fmt::format("{} nodes, all alike\n", all);
    return fmt::format("{} of {} nodes differ from the other {}: {}\n", all - alike.members.size(),
                       all, alike.members.size(), clipped(fold_hosts(comparison.names(alike)), 40));
}

int run_topology_diff(Context const& context, Arguments const& arguments) {
    auto const first = load_topology(context, arguments.value("A").value_or(""));
    if (first.has_error()) return refuse(first.error());
    Comparison comparison;
    std::string head;
    if (auto const other = arguments.value("B")) {
        auto const second = load_topology(context, *other);
        if (second.has_error()) return refuse(second.error());
        comparison = compare(*first, *second);
        head = comparison.equal() ? "no difference\n" : fmt::format("{} differs\n", *other);
    } else if (first->machines.size() < 2) {
        return fail(kExitUsage, *arguments.value("A") +
                                    ": one node alone; name another one (osora topology diff A B) "
                                    "or a folder of nodes");
    } else {
        comparison = compare_nodes(*first);
        head = head_of_nodes(comparison);
    }
    if (arguments.has("--json")) {
        print_comparison_json(comparison);
    } else {
        cli::print("{}", comparison_text(comparison, head));
    }
    return comparison.equal() ? kExitOk : kExitBad;
}

PositionalSpec source(std::string_view name, bool required) {
    return {.name = name, .help = kSourceHelp, .complete = Complete::file, .required = required};
}

}  // namespace

CommandSpec topology_show_command() {
    return {.name = "topology show",
            .summary = "the cluster: switches, nodes, GPUs, cards and how far they are apart",
            .details =
                "Draws leaves and spines, and of each kind of node its sockets, PCIe switches, "
                "GPUs and cards with the speed of their links (one below its best is marked), "
                "and the path between GPUs and cards in the words of nvidia-smi topo -m. SOURCE "
                "is a folder (a root with sys/ and proc/, or a folder of such roots, one a "
                "node), a file (NCCL's topology XML, topology.conf, topology.yaml, what scontrol "
                "show topology or ibnetdiscover print, JSON of osora topology import), or "
                "\"synthetic:leaf:2 node:8 gpu:8\"; its keys are spine leaf node gpu nic socket "
                "core model rate fabric up block name.",
            .example = "osora topology show \"synthetic:leaf:2 node:8 gpu:8\"",
            .positionals = {source("SOURCE", false)},
            .options = {topology_option(),
                        json_option("Print the topology as JSON (osora.topology/1).")},
            .run = run_show};
}

CommandSpec topology_diff_command() {
    return {.name = "topology diff",
            .summary = "how nodes that ought to be alike differ, and what that costs",
            .details =
                "With one source that has several nodes, compares each with the largest group "
                "of equal ones; with two, the second with the first. Names a missing card or "
                "GPU, a narrower or slower PCIe link (which NCCL does not see), other rates, "
                "NUMA nodes, drivers and firmware. A node's own addresses and names do not count, "
                "nor does what only one side knows. Exit code 1 when something "
                "differs, 0 when not. Sources: see osora topology show.",
            .example = "osora topology diff recorded/n3 recorded/n7",
            .positionals = {source("A", true), source("B", false)},
            .options = {json_option("Print the differences as JSON (osora.topology_diff/1).")},
            .run = run_topology_diff};
}

CommandSpec topology_import_command() {
    return {.name = "topology import",
            .summary = "any description of a cluster as one JSON file",
            .details =
                "Writes what osora topology show reads as JSON (osora.topology/1), one line, to "
                "stdout or a file; other commands take that file as a topology.",
            .example = "osora topology import recorded -o cluster.json",
            .positionals = {source("SOURCE", false)},
            .options = {{.name = "--output",
                         .value = "FILE",
                         .help = "Write to FILE; a cut-off write leaves it as it was.",
                         .complete = Complete::file,
                         .shorthand = "-o"},
                        topology_option(),
                        json_option("With --output: say what was written as JSON.")},
            .run = run_topology_import};
}

}  // namespace osora::cli
