// Rules about NCCL_* that this run did not ask for: row 29, and row 20's forced choices.
#include "topology/doctor/rules_internal.hpp"
#include "topology/nccl/nccl_catalogue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace osora::topology::doctor {
namespace {

bool any_settings(Evidence const& evidence) {
    return std::ranges::any_of(evidence.nodes,
                               [](auto const& node) { return !node.settings.empty(); });
}

/// The user set it in the run file: it is not inherited.
bool is_own(Evidence const& evidence, InheritedSetting const& each) {
    if (!evidence.run) return false;
    auto const found = evidence.run->own_settings.find(each.name);
    return found != evidence.run->own_settings.end() && found->second == each.value;
}

bool is_forced_choice(std::string const& name) {
    return name == "NCCL_ALGO" || name == "NCCL_PROTO";
}

/// Values that change nothing, or equal NCCL's choice.
bool is_harmless(InheritedSetting const& each) {
    if (auto const* variable = find_variable(each.name)) {
        if (each.value == default_of(*variable, 0)) return true;
    }
    bool const off = each.value == "0";
    for (char const* name : {"NCCL_IB_DISABLE", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE"}) {
        if (each.name == name && off) return true;
    }
    return false;
}

/// Separate rules check these.
bool has_own_rule(std::string const& name) {
    for (char const* each : {"NCCL_IB_GID_INDEX", "NCCL_NVLS_ENABLE"}) {
        if (name == each) return true;
    }
    return is_forced_choice(name);
}

double impact_of(std::string const& name) {
    if (name == "NCCL_P2P_DISABLE" || name == "NCCL_IB_DISABLE") return 0.8;
    if (name == "NCCL_SHM_DISABLE" || name == "NCCL_P2P_LEVEL") return 0.4;
    return 0.1;
}

std::string origin_text(InheritedSetting const& each) {
    constexpr std::string_view kFile = "environment, set by ";
    if (each.origin.starts_with(kFile)) return each.origin.substr(kFile.size());
    return each.origin == "environment" ? "the environment" : each.origin;
}

constexpr char const* kUnset = "unset it, or keep it under [nccl] if you mean it";

}  // namespace

Outcome check_inherited(Evidence const& evidence) {
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        std::vector<std::string> others;
        for (auto const& each : node.settings) {
            bool const nccl = each.name.starts_with("NCCL_");
            if (!each.effective || !nccl || is_own(evidence, each)) continue;
            auto const* variable = find_variable(each.name);
            bool const never = variable != nullptr && variable->cls == SettingClass::bisect;
            if (!never || is_harmless(each)) {
                if (!has_own_rule(each.name)) {
                    others.push_back(
                        fmt::format("{}={} ({})", each.name, each.value, origin_text(each)));
                }
                continue;
            }
            if (has_own_rule(each.name)) continue;
            outcome.findings.push_back(
                {.severity = Severity::warning,
                 .nodes = {node.name},
                 .title =
                     fmt::format("{}={} comes from {}", each.name, each.value, origin_text(each)),
                 .seen = std::string(variable->reason),
                 .effect = "a switch to find a fault with, slow or unsafe when left on",
                 .fix = kUnset,
                 .impact = impact_of(each.name)});
        }
        if (others.empty()) continue;
        outcome.findings.push_back({.severity = Severity::info,
                                    .nodes = {node.name},
                                    .title = "NCCL settings that nobody of the run file asked for",
                                    .seen = fmt::format("{}", fmt::join(others, ", ")),
                                    .effect = "they win over what NCCL and osora would choose",
                                    .fix = "osora nccl env lists them; unset what nobody needs"});
    }
    return outcome;
}

Outcome check_forced_choice(Evidence const& evidence) {
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        for (auto const& each : node.settings) {
            if (!each.effective || !is_forced_choice(each.name) || each.value.empty()) continue;
            bool const own = is_own(evidence, each);
            // "^LL128" and a list with several choices leave the tuner a choice.
            bool const excludes = each.value.find('^') != std::string::npos;
            bool const forced_ll128 = each.name == "NCCL_PROTO" && !excludes &&
                                      each.value.find("LL128") != std::string::npos;
            if (forced_ll128) {
                outcome.findings.push_back(
                    {.severity = Severity::fault,
                     .nodes = {node.name},
                     .title = fmt::format("{}={} forces LL128", each.name, each.value),
                     .seen = "from " + origin_text(each),
                     .effect = "sums may be silently wrong where the path does not support it",
                     .fix = "unset it: NCCL takes LL128 by itself where it is safe",
                     .impact = 1});
                continue;
            }
            if (excludes || own) continue;
            outcome.findings.push_back(
                {.severity = Severity::warning,
                 .nodes = {node.name},
                 .title = fmt::format("{}={} comes from {} and overrides the tuner", each.name,
                                      each.value, origin_text(each)),
                 .effect = "one choice for all sizes: 150 instead of 190 GB/s was seen",
                 .fix = kUnset,
                 .impact = 0.21});
        }
    }
    return outcome;
}

Outcome check_settings_differ(Evidence const& evidence) {
    std::vector<std::string> scoped;
    for (auto const& node : evidence.nodes) {
        for (auto const& each : node.settings) {
            auto const* variable = find_variable(each.name);
            bool const one = variable != nullptr && variable->scope == SettingScope::job;
            if (one && std::ranges::find(scoped, each.name) == scoped.end()) {
                scoped.push_back(each.name);
            }
        }
    }
    if (evidence.nodes.size() < 2) return skip("one node");
    Outcome outcome;
    for (auto const& name : scoped) {
        std::map<std::string, std::vector<std::string>> nodes_by_value;
        for (auto const& node : evidence.nodes) {
            auto const* set = setting(node, name);
            nodes_by_value[set == nullptr ? "unset" : set->value].push_back(node.name);
        }
        if (nodes_by_value.size() < 2) continue;
        auto const usual = std::ranges::max_element(
            nodes_by_value, {}, [](auto const& each) { return each.second.size(); });
        for (auto const& [value, nodes] : nodes_by_value) {
            if (value == usual->first) continue;
            bool const chooses = name == "NCCL_ALGO" || name == "NCCL_PROTO" ||
                                 name.find("TUNER") != std::string::npos || name == "NCCL_NET";
            outcome.findings.push_back(
                {.severity = chooses ? Severity::fault : Severity::warning,
                 .nodes = nodes,
                 .title =
                     usual->second.size() * 2 > evidence.nodes.size()
                         ? fmt::format("{} is {} here, {} on most nodes", name, value, usual->first)
                         : fmt::format("{} is {} here, {} elsewhere", name, value, usual->first),
                 .seen = "every rank of a run must have the same",
                 .effect = chooses ? "ranks choose differently: hang, or wrong sums"
                                   : "connections are set up for the smaller of both, or fail",
                 .fix =
                     fmt::format("set it once: --set nccl.{}=VALUE, or unset it everywhere", name),
                 .impact = chooses ? 1 : 0.3});
        }
    }
    return outcome;
}

namespace {

/// The origin of a setting: "/opt/graph.xml from /etc/nccl.conf line 2"; from the machine's files,
/// else from the log.
std::string file_text(NodeEvidence const& node, std::string const& name) {
    if (auto const* set = setting(node, name)) {
        std::string origin = origin_text(*set);
        auto const colon = origin.rfind(':');
        if (origin.starts_with('/') && colon != std::string::npos) {
            origin.replace(colon, 1, " line ");
        }
        return fmt::format("{} from {}", set->value, origin);
    }
    auto const logged = node.log.set_by_environment.find(name);
    return logged == node.log.set_by_environment.end() ? "" : logged->second;
}

std::string removal_text(NodeEvidence const& node, std::string const& name) {
    auto const* set = setting(node, name);
    bool const file = set != nullptr && set->origin.starts_with('/');
    if (file) {
        auto const colon = set->origin.rfind(':');
        return fmt::format("delete {} in line {} of {}", name, set->origin.substr(colon + 1),
                           set->origin.substr(0, colon));
    }
    if (set != nullptr) return fmt::format("unset {} ({})", name, origin_text(*set));
    return fmt::format("delete {} where it is set: /etc/nccl.conf, ~/.nccl.conf or the environment",
                       name);
}

struct FileTrouble {
    LogTrouble trouble;
    char const* name;
    char const* advice;
};

/// Files that NCCL opened and rejected for this machine, according to its log.
void check_unfit_files(NodeEvidence const& node, Outcome& outcome) {
    for (auto const& each : {FileTrouble{LogTrouble::graph_file, "NCCL_GRAPH_FILE",
                                         "; NCCL searches its own graph without it"},
                             FileTrouble{LogTrouble::topo_file, "NCCL_TOPO_FILE",
                                         ", or name the file of this machine type"}}) {
        auto const found = node.log.troubles.find(each.trouble);
        if (found == node.log.troubles.end()) continue;
        std::string const file = file_text(node, each.name);
        outcome.findings.push_back(
            {.severity = Severity::fault,
             .nodes = {node.name},
             .title = fmt::format("{} does not fit this machine", each.name),
             .seen = (file.empty() ? "" : file + "; ") + "log: " + found->second,
             .effect = "NCCL fails at the start, or takes another topology than there is",
             .fix = removal_text(node, each.name) + each.advice,
             .threads = {"nccl#1008", "nccl#1240", "azhpc-images#327"},
             .impact = 1});
    }
}

bool any_file_trouble(Evidence const& evidence) {
    return std::ranges::any_of(evidence.nodes, [](NodeEvidence const& node) {
        return node.log.troubles.contains(LogTrouble::graph_file) ||
               node.log.troubles.contains(LogTrouble::topo_file);
    });
}

}  // namespace

Outcome check_named_files(Evidence const& evidence) {
    if (!any_settings(evidence) && !any_file_trouble(evidence)) return skip("no inherited setting");
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        check_unfit_files(node, outcome);
        for (auto const& name : node.missing_files) {
            auto const* set = setting(node, name);
            if (set == nullptr) continue;
            outcome.findings.push_back(
                {.severity = Severity::fault,
                 .nodes = {node.name},
                 .title = fmt::format("{} names a file that is not there", name),
                 .seen = file_text(node, name),
                 .effect = "NCCL continues without it, and hangs when other nodes have it",
                 .fix = fmt::format("install the file on every node, or unset {}", name),
                 .impact = 0.7});
        }
    }
    return outcome;
}

Outcome check_sockets(Evidence const& evidence) {
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        long const threads = number_of(node, "NCCL_SOCKET_NTHREADS").value_or(1);
        long const sockets = number_of(node, "NCCL_NSOCKS_PERTHREAD").value_or(1);
        if (threads <= 0 || sockets <= 0 || threads > 1024 || sockets > 1024) continue;
        long const product = threads * sockets;
        if (product <= 16) continue;
        bool const rdma = !rdma_up(node).empty();
        outcome.findings.push_back(
            {.severity = rdma ? Severity::info : Severity::warning,
             .nodes = {node.name},
             .title = fmt::format("{} TCP sockets a connection", product),
             .seen = fmt::format("NCCL_SOCKET_NTHREADS {} x NCCL_NSOCKS_PERTHREAD {}{}", threads,
                                 sockets, product > 64 ? "; NCCL allows 64" : ""),
             .effect = "the slowest socket holds all: 1.1-1.5 GB/s at 100 Gbit/s were seen, "
                       "5 with 16",
             .fix = "--set nccl.NCCL_SOCKET_NTHREADS=4 --set nccl.NCCL_NSOCKS_PERTHREAD=4, then "
                    "osora tune --nccl",
             .impact = rdma ? 0.0 : 0.6});
    }
    return outcome;
}

}  // namespace osora::topology::doctor
