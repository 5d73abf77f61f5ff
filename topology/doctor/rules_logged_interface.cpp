// Interfaces and connections in NCCL's log: part of row 2.
#include "topology/doctor/interface_names.hpp"
#include "topology/doctor/log/nccl_log_internal.hpp"
#include "topology/doctor/rules_internal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace osora::topology::doctor {
namespace {

/// "" = not logged.
std::string address_of(NcclLog const& log, std::string const& name) {
    auto const found = log.addresses.find(name);
    return found == log.addresses.end() ? "" : found->second;
}

bool is_link_local(std::string const& address) {
    return address.starts_with("169.254.") || address.starts_with("fe80:");
}

/// The kernel makes such tunnels by itself ("ip6tnl0", "sit0"): without an address that is routed
/// they lead nowhere.
bool is_idle_tunnel(NcclLog const& log, std::string const& name) {
    for (std::string_view const each :
         {"ip6tnl", "tunl", "sit", "gre", "ip6gre", "erspan", "ip_vti"}) {
        if (name.starts_with(each)) return is_link_local(address_of(log, name));
    }
    return false;
}

/// A container may call its own end of a pair "veth0": that one has a routed address, and there is
/// no other interface that leads anywhere.
bool is_way_out(NcclLog const& log, std::string const& name) {
    auto const address = address_of(log, name);
    if (!name.starts_with("veth") || address.empty() || is_link_local(address)) return false;
    return std::ranges::all_of(log.socket_interfaces, [&](std::string const& each) {
        return each == name || each == "lo" || is_host_internal(each) || is_idle_tunnel(log, each);
    });
}

/// Why other nodes are unreachable over it; "" = they may be reachable.
std::string why_nowhere(NcclLog const& log, std::string const& name) {
    if (name == "lo") return "lo leads to no other node";
    if (is_way_out(log, name)) return {};
    if (is_host_internal(name)) return "it is a bridge or pair inside the host";
    if (is_idle_tunnel(log, name)) return "it is a tunnel without a routed address";
    return address_of(log, name).starts_with("169.254.") ? "its address holds on its own link alone"
                                                         : "";
}

bool leads_nowhere(NcclLog const& log, std::string const& name) {
    return !why_nowhere(log, name).empty();
}

std::string interface_text(NcclLog const& log, std::string const& name) {
    auto const address = address_of(log, name);
    return address.empty() ? name : name + ":" + address;
}

/// The log itself shows that no other node takes part: then any interface will do.
bool is_alone(Evidence const& evidence, NodeEvidence const& node) {
    auto const& log = node.log;
    if (many_nodes(evidence) || log.nodes > 1 || log.via_socket > 0 || log.via_ib > 0) return false;
    bool const one_rank = log.complete && log.ranks == 1;
    return log.nodes == 1 || log.via_p2p + log.via_shm > 0 || one_rank;
}

/// "NCCL_SOCKET_IFNAME=lo was set by the environment".
std::string setting_text(NodeEvidence const& node) {
    if (auto const* set = setting(node, "NCCL_SOCKET_IFNAME")) {
        return fmt::format("; NCCL_SOCKET_IFNAME={} from {}", set->value, set->origin);
    }
    auto const found = node.log.set_by_environment.find("NCCL_SOCKET_IFNAME");
    if (found == node.log.set_by_environment.end()) return {};
    return fmt::format("; set by NCCL_SOCKET_IFNAME={}", found->second);
}

std::string fix_text(NodeEvidence const& node, std::string const& best) {
    if (!best.empty()) return fmt::format("--set nccl.NCCL_SOCKET_IFNAME=\"={}\"", best);
    char const* const find = "the interface that leads to the other nodes (ip -br address)";
    return setting_text(node).empty()
               ? fmt::format("set nccl.NCCL_SOCKET_IFNAME to {}", find)
               : fmt::format("unset NCCL_SOCKET_IFNAME, or set it to {}", find);
}

/// Why no node can be reached at the address in "Connect to fe80::1%ib1<17943> failed"; "" = it may
/// be reachable, or the line names none.
std::string why_unreachable(std::string_view line) {
    auto const rest = after(line, "onnect to ");
    std::string const peer(rest ? until(*rest, "< ") : std::string_view());
    bool const loopback =
        peer.starts_with("127.") || peer.starts_with("localhost") || peer == "::1";
    if (loopback) return fmt::format("{}, which leads to no other node", peer);
    return is_link_local(peer) ? fmt::format("{}, which holds on its own link alone", peer) : "";
}

/// Failed connections: where the address explains it, the interface is to blame.
void check_failed_connections(Evidence const& evidence, Outcome& outcome) {
    Outcome failed;
    find_trouble(failed, evidence, LogTrouble::connect,
                 {.severity = Severity::fault,
                  .title = "NCCL could not connect to a peer over TCP",
                  .effect = "the run fails or hangs when it connects",
                  .fix = "see whether the peer's rank still ran; let all TCP ports through between "
                         "the nodes (firewall, security group); both ends on one network "
                         "(NCCL_SOCKET_IFNAME)",
                  .impact = 1});
    auto node = evidence.nodes.begin();  // findings are in the order of the nodes
    for (auto& each : failed.findings) {
        node =
            std::ranges::find(node, evidence.nodes.end(), each.nodes.front(), &NodeEvidence::name);
        auto const why = why_unreachable(each.seen);
        if (!why.empty() && !is_alone(evidence, *node)) {
            each.title = "A peer is to be reached at " + why;
            each.fix = fix_text(*node, logged_interface(evidence, *node));
        }
        outcome.findings.push_back(std::move(each));
    }
}

/// PyTorch's store is of rank 0. The lines name no host.
void check_store(Evidence const& evidence, Outcome& outcome) {
    Outcome failed;
    find_trouble(failed, evidence, LogTrouble::no_id,
                 {.severity = Severity::warning,
                  .title = "Ranks could not fetch NCCL's id from rank 0",
                  .effect = "the run fails when it connects; these ranks are not the cause",
                  .fix = "see in rank 0's own log whether it ended, or did not come to the first "
                         "collective; all ranks must reach MASTER_ADDR and MASTER_PORT",
                  .impact = 0.5});
    if (failed.findings.empty()) return;
    auto& first = failed.findings.front();
    if (evidence.nodes.size() > 1) first.nodes.clear();
    outcome.findings.push_back(std::move(first));
}

/// No failure is written while NCCL still tries: the run hangs.
void check_retries(Evidence const& evidence, Outcome& outcome) {
    for (auto const& node : evidence.nodes) {
        auto const& log = node.log;
        bool const started = !log.networks.empty() && !log.complete && log.troubles.empty();
        // With NCCL_DEBUG_SUBSYS=NET no line says that a communicator was set up.
        bool const connects = log.via_ib + log.via_socket + log.via_p2p + log.via_shm > 0;
        bool const unsaid = connects && log.ranks == 0;
        if (log.connect_retry.empty() || !started || unsaid) continue;
        outcome.findings.push_back(
            {.severity = Severity::warning,
             .nodes = {node.name},
             .title = "NCCL kept trying to connect to a peer, and was not set up",
             .seen = "log: " + log.connect_retry,
             .effect = "the run hangs until the peer answers",
             .fix =
                 "see in the peers' own logs whether all ranks started and use the same network "
                 "plug-in; let all TCP ports through between the nodes; both ends on one network "
                 "(NCCL_SOCKET_IFNAME)",
             .impact = 0.5});
    }
}

}  // namespace

bool is_host_internal(std::string_view interface) {
    for (std::string_view each :
         {"docker", "virbr", "veth", "br-", "cni", "lxc", "lxdbr", "vmnet", "podman", "cali",
          "flannel", "cilium", "kube-", "vnet", "weave"}) {
        if (interface.starts_with(each)) return true;
    }
    return false;
}

bool lacks_set_interface(NodeEvidence const& node) {
    auto const& log = node.log;
    return log.troubles.contains(LogTrouble::bad_address) && log.bootstrap_interface.empty() &&
           log.set_by_environment.contains("NCCL_SOCKET_IFNAME");
}

std::string logged_interface(Evidence const& evidence, NodeEvidence const& node) {
    auto const& own = node.log;
    std::string const& first = own.bootstrap_interface;
    if (!first.empty() && !leads_nowhere(own, first)) return first;
    for (auto const& each : own.socket_interfaces) {
        if (!leads_nowhere(own, each)) return each;
    }
    std::map<std::string, int> others;
    for (auto const& each : evidence.nodes) {
        auto const& name = each.log.bootstrap_interface;
        if (!name.empty() && !leads_nowhere(each.log, name)) ++others[name];
    }
    auto const most =
        std::ranges::max_element(others, {}, [](auto const& each) { return each.second; });
    return most == others.end() ? "" : most->first;
}

void check_logged_interfaces(Evidence const& evidence, NodeEvidence const& node,
                             std::string const& best, Outcome& outcome) {
    auto const& log = node.log;
    std::vector<std::string> bad, seen, why;
    for (auto const& each : log.socket_interfaces) {
        if (!leads_nowhere(log, each)) continue;
        bad.push_back(each);
        seen.push_back(interface_text(log, each));
        why.push_back(why_nowhere(log, each));
    }
    if (bad.empty()) return;
    bool const alone = is_alone(evidence, node);
    outcome.findings.push_back(
        {.severity = alone ? Severity::info : Severity::fault,
         .nodes = {node.name},
         .title = fmt::format("NCCL took {}: {}", fmt::join(bad, ", "), why.front()),
         .seen = fmt::format("log of {}: Using {}{}", node.name, fmt::join(seen, ", "),
                             setting_text(node)),
         .effect = alone ? "none on one node; with more the run would hang"
                         : "other nodes cannot be reached over it: hang",
         .fix = fix_text(node, best),
         .impact = alone ? 0.0 : 1.0});
}

namespace {

/// The fix where the node has no interface that it may use. One that the setting names is not
/// there.
std::string missing_fix(Evidence const& evidence, NodeEvidence const& node) {
    auto const set = node.log.set_by_environment.find("NCCL_SOCKET_IFNAME");
    auto const best = logged_interface(evidence, node);
    bool const same = set != node.log.set_by_environment.end() && !best.empty() &&
                      parse_filter(set->second).matches(best);
    if (!same) return fix_text(node, best);
    return "unset NCCL_SOCKET_IFNAME, or list the names of all nodes in it (eth0,ens3: ip -br "
           "address), or set it in each node's /etc/nccl.conf";
}

}  // namespace

void check_connections(Evidence const& evidence, Outcome& outcome) {
    for (auto const& node : evidence.nodes) {
        auto const trouble =
            lacks_set_interface(node) ? LogTrouble::bad_address : LogTrouble::no_interface;
        auto const found = node.log.troubles.find(trouble);
        if (found == node.log.troubles.end()) continue;
        outcome.findings.push_back({.severity = Severity::fault,
                                    .nodes = {node.name},
                                    .title = "NCCL finds no interface that it may use",
                                    .seen = "log: " + found->second + setting_text(node),
                                    .effect = "the run fails when it connects",
                                    .fix = missing_fix(evidence, node),
                                    .impact = 1});
    }
    bool const explained = std::ranges::any_of(
        outcome.findings, [](Finding const& each) { return each.severity == Severity::fault; });
    if (explained) return;
    check_failed_connections(evidence, outcome);
    check_store(evidence, outcome);
    if (!any_trouble(evidence, LogTrouble::connect)) check_retries(evidence, outcome);
}

}  // namespace osora::topology::doctor
