// The rules, one function each; a rule that does not apply adds nothing.
#include "plan/few_names.hpp"
#include "plan/nccl/nccl_advice_parts.hpp"
#include "topology/cpu_list.hpp"
#include "topology/ip_network.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <unordered_map>

namespace osora::plan {
namespace {

using topology::Machine;
using topology::NicKind;
using Settings = std::vector<AdvisedSetting>;

constexpr int kAutoGidSince = 22100, kNetMismatchSince = 23000;

struct NodeValue {
    std::string node, value, reason;
};

/// One setting per distinct value, for the nodes with that value; for all, if it is the same on
/// every node of the run.
void add_by_node(AdviceContext const& context, std::vector<NodeValue> const& values,
                 AdvisedSetting const& like, Settings& settings) {
    Settings added;
    std::unordered_map<std::string, std::size_t> by_value;
    for (NodeValue const& each : values) {
        auto const [found, fresh] = by_value.emplace(each.value, added.size());
        if (fresh) {
            added.push_back(like);
            added.back().value = each.value;
            added.back().reason = each.reason;
        }
        added[found->second].nodes.push_back(each.node);
    }
    bool const everywhere = added.size() == 1 &&
                            static_cast<int>(values.size()) >= context.in.nodes &&
                            values.size() == context.in.machines.size();
    if (everywhere) added.front().nodes.clear();
    for (AdvisedSetting& each : added) settings.push_back(std::move(each));
}

AdvisedSetting setting(std::string name, std::string origin, std::string value = {},
                       std::string reason = {}) {
    AdvisedSetting made;
    made.cls = class_of(name);
    made.name = std::move(name);
    made.value = std::move(value);
    made.origin = std::move(origin);
    made.reason = std::move(reason);
    return made;
}

void interface_rule(AdviceContext const& context, Settings& settings) {
    std::vector<NodeValue> values;
    bool measured = false;
    for (NodeInterface const& each : context.interfaces.nodes) {
        measured = measured || each.measured;
        std::string reason = each.gbit_s > 0
                                 ? fmt::format("{:.3g} Gbit/s {}", each.gbit_s,
                                               each.measured ? "measured" : "by its card")
                                 : std::string("the one that is up");
        if (!each.others.empty()) reason += "; also there: " + each.others;
        values.push_back({each.node, each.interface, std::move(reason)});
    }
    std::string const origin = measured ? "probe" : "facts";
    add_by_node(context, values, setting("GLOO_SOCKET_IFNAME", origin), settings);
    if (!context.in.gpu) return;
    for (NodeValue& each : values) each.value.insert(0, "=");
    add_by_node(context, values, setting("NCCL_SOCKET_IFNAME", origin), settings);
}

/// The address families of each node's chosen interface.
void family_rule(AdviceContext const& context, Settings& settings,
                 std::vector<std::string>& warnings) {
    std::size_t v4 = 0, v6 = 0, both = 0, known = 0;
    std::unordered_map<std::string, std::string> chosen;
    for (auto const& each : context.interfaces.nodes) chosen[each.node] = each.interface;
    for (Machine const& machine : context.in.machines) {
        bool has4 = false, has6 = false;
        for (auto const& nic : machine.nics) {
            if (nic.interface.empty() || nic.interface != chosen[machine.name]) continue;
            for (std::string const& address : nic.addresses) {
                if (topology::network_of(address).empty()) continue;
                (address.find(':') == std::string::npos ? has4 : has6) = true;
            }
        }
        v4 += has4;
        v6 += has6;
        both += has4 && has6;
        known += has4 || has6;
    }
    if (known < 2 || (v4 == known && v6 == 0) || (v6 == known && v4 == 0)) return;
    if (v4 < known && v6 < known) {
        warnings.push_back(
            "some nodes have only IPv4 and others only IPv6 on their fastest "
            "interface: they do not meet");
        return;
    }
    bool const four = v4 == known;
    bool const mixed = both < known;
    settings.push_back(setting("NCCL_SOCKET_FAMILY", "facts", four ? "AF_INET" : "AF_INET6",
                               mixed ? "the family that every node has; some have the other one too"
                                     : "every node has both families; one of them for all"));
}

void hca_rule(AdviceContext const& context, Settings& settings) {
    std::vector<NodeValue> devices, gids;
    for (NodeHcas const& each : context.hcas.nodes) {
        std::string reason = fmt::format("{} {} device{}", each.devices.size(),
                                         each.kind == NicKind::roce ? "RoCE" : "InfiniBand",
                                         each.devices.size() == 1 ? "" : "s");
        if (!each.left_out.empty()) {
            reason += fmt::format("; left out: {}", fmt::join(each.left_out, ", "));
        }
        devices.push_back(
            {each.node, fmt::format("={}", fmt::join(each.devices, ",")), std::move(reason)});
        if (each.kind == NicKind::roce && each.gid_index) {
            gids.push_back({each.node, std::to_string(*each.gid_index),
                            "RoCE v2 over IPv4; before 2.21 NCCL takes index 0"});
        }
    }
    add_by_node(context, devices, setting("NCCL_IB_HCA", "facts"), settings);
    bool const old = context.in.nccl_version > 0 && context.in.nccl_version < kAutoGidSince;
    if (old) add_by_node(context, gids, setting("NCCL_IB_GID_INDEX", "facts"), settings);
    if (context.hcas.rails) {
        settings.push_back(setting("NCCL_CROSS_NIC", "facts", "0",
                                   "each NIC of a node is in a separate network, the same ones "
                                   "on all nodes: a rail reaches its rail"));
    }
}

/// CPUs next to the GPUs that a node's ranks may not use.
void affinity_rule(AdviceContext const& context, Settings& settings) {
    std::vector<NodeValue> values;
    for (Machine const& machine : context.in.machines) {
        auto const extras = context.in.extras.find(machine.name);
        if (extras == context.in.extras.end() || extras->second.allowed_cpus.empty()) continue;
        auto const allowed = topology::parse_cpu_list(extras->second.allowed_cpus);
        if (!allowed) continue;
        std::set<int> const usable(allowed->begin(), allowed->end());
        std::set<int> missed;
        for (auto const& gpu : machine.gpus) {
            auto const numa = std::ranges::find(machine.numa, gpu.numa, &topology::NumaNode::id);
            if (gpu.numa < 0 || numa == machine.numa.end()) continue;
            auto const near = topology::parse_cpu_list(numa->cpus);
            bool const meets = !near || near->empty() || std::ranges::any_of(*near, [&](int cpu) {
                return usable.contains(cpu);
            });
            if (!meets) missed.insert(gpu.numa);
        }
        if (missed.empty()) continue;
        values.push_back({machine.name, "1",
                          fmt::format("the mask {} has no CPU of NUMA node {}, where GPUs are; of "
                                      "no use where a cpuset forbids them",
                                      extras->second.allowed_cpus, fmt::join(missed, ", "))});
    }
    add_by_node(context, values, setting("NCCL_IGNORE_CPU_AFFINITY", "facts"), settings);
}

void topology_file_rule(AdviceContext const& context, Settings& settings,
                        std::vector<std::string>& warnings) {
    std::vector<NodeValue> values;
    std::vector<std::string> blind;
    for (std::string const& node : context.virtual_nodes) {
        auto const extras = context.in.extras.find(node);
        bool const found =
            extras != context.in.extras.end() && !extras->second.topology_file.empty();
        if (!found) {
            blind.push_back(node);
        } else if (extras->second.topology_file.find("nvidia-topologyd") == std::string::npos) {
            values.push_back({node, extras->second.topology_file,
                              "a virtual machine: what is near what is only in this file"});
        }
    }
    add_by_node(context, values, setting("NCCL_TOPO_FILE", "facts"), settings);
    if (blind.empty()) return;
    warnings.push_back(
        "virtual machines that hide what is near what, and no topology file is "
        "found; set NCCL_TOPO_FILE to that of the machine type: " +
        few_names(blind));
}

void plugin_rule(AdviceContext const& context, Settings& settings) {
    std::string const& tuner = context.in.tuner_plugin;
    if (!tuner.empty()) {
        settings.push_back(setting("NCCL_TUNER_PLUGIN", "facts", tuner,
                                   "osora's tuner, by its path: the same file on every node"));
    } else if (!context.hcas.efa) {  // there the network plug-in provides a tuner
        settings.push_back(
            setting("NCCL_TUNER_PLUGIN", "default", "none",
                    "no tuner; set explicitly, so that none is found by name on some nodes "
                    "only, which hangs"));
    }
}

void preflight_rule(AdviceContext const& context, Settings& settings) {
    auto const add = [&](char const* name, char const* value, char const* reason) {
        settings.push_back(setting(name, "default", value, reason));
        settings.back().preflight = true;
    };
    if (context.may_be_since(kNetMismatchSince)) {
        add("NCCL_IGNORE_NET_MISMATCH", "0",
            "while nodes are checked: ends when ranks differ in NICs; not in the run");
    }
    add("NCCL_DEBUG", "INFO", "while nodes are checked: says what NCCL found; not in the run");
    add("NCCL_DEBUG_SUBSYS", "INIT,NET,GRAPH,TUNING,ENV",
        "while nodes are checked: with NCCL's own table of times; not in the run");
}

}  // namespace

char class_of(std::string_view name) {
    auto const* const variable = topology::find_variable(name);
    return variable == nullptr ? '-' : topology::letter_of(variable->cls);
}

std::vector<AdvisedSetting> derived_settings(AdviceContext const& context,
                                             std::vector<std::string>& warnings) {
    Settings settings;
    bool const several = context.in.nodes > 1;
    if (several) interface_rule(context, settings);
    if (!context.in.gpu) return settings;
    if (several) {
        family_rule(context, settings, warnings);
        hca_rule(context, settings);
        plugin_rule(context, settings);
        preflight_rule(context, settings);
    }
    affinity_rule(context, settings);
    topology_file_rule(context, settings, warnings);
    settings.push_back(
        setting("NCCL_DEBUG", "default", "WARN", "says why a collective failed, and nothing else"));
    return settings;
}

}  // namespace osora::plan
