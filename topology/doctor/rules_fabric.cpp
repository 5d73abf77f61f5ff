// Rules about the network that NCCL uses, and whether RDMA works: rows 1, 6, 8, 13, 23.
#include "topology/doctor/rules_internal.hpp"

#include "base/text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace osora::topology::doctor {
namespace {

constexpr double kTcpLoss = 0.9;  // 4 GB/s against 340 (aicr), 1.1-5 against 12-48 elsewhere

bool any_rdma(Evidence const& evidence) {
    return std::ranges::any_of(evidence.nodes,
                               [](auto const& node) { return !rdma_up(node).empty(); });
}

bool has_kind(NodeEvidence const& node, NicKind kind) {
    auto const nics = rdma_up(node);
    return std::ranges::any_of(nics, [&](Nic const* each) { return each->kind == kind; });
}

std::string rdma_text(NodeEvidence const& node) {
    auto const nics = compute_nics(node);
    std::string text = fmt::format("{} RDMA port{} up ({}", nics.size(),
                                   nics.size() == 1 ? "" : "s", nics.front()->device);
    if (nics.front()->rate_gbit > 0) text += ", " + format_gbit_per_s(nics.front()->rate_gbit);
    return text + ")";
}

/// Why NCCL would not use the RDMA ports of a node; "" if nothing indicates that.
std::string tcp_reason(NodeEvidence const& node) {
    auto const* disabled = setting(node, "NCCL_IB_DISABLE");
    if (disabled != nullptr && disabled->value == "1" && !has_kind(node, NicKind::efa)) {
        return "NCCL_IB_DISABLE=1 from " + disabled->origin;
    }
    auto const* net = setting(node, "NCCL_NET");
    if (net != nullptr && net->value == "Socket") return "NCCL_NET=Socket from " + net->origin;
    if (node.has_uverbs == false) return "/dev/infiniband/uverbs* is not there (container?)";
    if (node.log.networks.contains("Socket")) {
        return node.log.no_ib_device ? "log: NET/IB : No device found, Using network Socket"
                                     : "log: Using network Socket";
    }
    if (node.log.via_socket > 0)
        return fmt::format("log: {} channels via NET/Socket", node.log.via_socket);
    return {};
}

std::string tcp_fix(NodeEvidence const& node, std::string const& reason) {
    if (reason.starts_with("NCCL_IB_DISABLE")) return "unset NCCL_IB_DISABLE";
    if (reason.starts_with("NCCL_NET")) return "unset NCCL_NET";
    if (has_kind(node, NicKind::efa)) {
        return "put aws-ofi-nccl's libnccl-net.so on LD_LIBRARY_PATH of the container";
    }
    return "start the container with /dev/infiniband, rdma-core and the verbs provider in it";
}

bool uses_sockets(NodeEvidence const& node) {
    return node.log.networks == std::set<std::string>{"Socket"};
}

/// The networks of nodes whose log shows another one than TCP.
std::set<std::string> other_networks(Evidence const& evidence) {
    std::set<std::string> networks;
    for (auto const& node : evidence.nodes) {
        if (!uses_sockets(node))
            networks.insert(node.log.networks.begin(), node.log.networks.end());
    }
    return networks;
}

/// With logs alone: a node that fell back to TCP while the others did not.
void check_odd_sockets(Evidence const& evidence, Outcome& outcome) {
    auto const others = other_networks(evidence);
    if (others.empty()) return;
    for (auto const& node : evidence.nodes) {
        if (!uses_sockets(node) || !rdma_up(node).empty()) continue;
        auto const reason = tcp_reason(node);
        outcome.findings.push_back(
            {.severity = Severity::fault,
             .nodes = {node.name},
             .title = fmt::format("NCCL uses TCP here, {} on other nodes", fmt::join(others, ", ")),
             .seen = reason.empty() ? "log: Using network Socket" : reason,
             .effect = "ranks of both kinds cannot connect to each other: hang",
             .fix = tcp_fix(node, reason),
             .impact = 1});
    }
}

/// The devices that NCCL_IB_HCA of a log asks for, although NCCL found none; "" = it asks for none.
std::string wanted_devices(NodeEvidence const& node) {
    auto const& log = node.log;
    auto const set = log.set_by_environment.find("NCCL_IB_HCA");
    auto const off = log.set_by_environment.find("NCCL_IB_DISABLE");
    bool const disabled = off != log.set_by_environment.end() && off->second != "0";
    bool const asks = set != log.set_by_environment.end() && !set->second.starts_with('^');
    if (!asks || disabled || !log.no_ib_device || !uses_sockets(node)) return {};
    return set->second;
}

/// The log shows that its communicators stay on the node: they need no network.
bool stays_on_node(NcclLog const& log) {
    bool const one_rank = log.complete && log.ranks == 1;
    return log.nodes == 1 || one_rank || (log.via_socket == 0 && log.via_p2p + log.via_shm > 0);
}

/// With logs alone: all nodes use TCP, and a setting shows that RDMA was meant.
void check_wanted_devices(Evidence const& evidence, Outcome& outcome) {
    for (auto const& node : evidence.nodes) {
        auto const wanted = wanted_devices(node);
        if (wanted.empty() || node.machine || stays_on_node(node.log)) continue;
        outcome.findings.push_back(
            {.severity = Severity::fault,
             .nodes = {node.name},
             .title = fmt::format("NCCL uses TCP: it found no RDMA device, NCCL_IB_HCA asks for {}",
                                  wanted),
             .seen = "log: NET/IB : No device found, Using network Socket",
             .effect = "collectives at 1-5 GB/s, a tenth or less of RDMA",
             .fix =
                 "ibv_devinfo shows whether a device of this name is there and its port active; "
                 "start a container with /dev/infiniband, rdma-core and the verbs provider in it",
             .impact = kTcpLoss});
    }
}

}  // namespace

Outcome check_network(Evidence const& evidence) {
    bool const mixed =
        std::ranges::any_of(evidence.nodes, uses_sockets) && !other_networks(evidence).empty();
    bool const wanted = std::ranges::any_of(
        evidence.nodes, [](auto const& node) { return !wanted_devices(node).empty(); });
    bool const any = any_rdma(evidence) || mixed || wanted;
    if (!any && !any_trouble(evidence, LogTrouble::plugin)) return skip("no RDMA NIC");
    Outcome outcome;
    check_odd_sockets(evidence, outcome);
    if (!mixed) check_wanted_devices(evidence, outcome);
    for (auto const& node : evidence.nodes) {
        if (rdma_up(node).empty()) continue;
        auto const reason = tcp_reason(node);
        if (reason.empty()) continue;
        outcome.findings.push_back({.severity = Severity::fault,
                                    .nodes = {node.name},
                                    .title = "NCCL uses TCP although there is RDMA",
                                    .seen = rdma_text(node) + "; " + reason,
                                    .effect = "collectives at 1-5 GB/s, a tenth or less of RDMA",
                                    .fix = tcp_fix(node, reason),
                                    .impact = kTcpLoss});
    }
    find_trouble(outcome, evidence, LogTrouble::plugin,
                 {.severity = Severity::fault,
                  .title = "A network or tuner plug-in that was asked for is not found",
                  .effect = "NCCL falls back to its own network, or hangs where only some have it",
                  .fix = "install it on every node, or unset NCCL_NET_PLUGIN / NCCL_TUNER_PLUGIN",
                  .impact = kTcpLoss});
    return outcome;
}

Outcome check_cross_rail(Evidence const& evidence) {
    if (!any_log(evidence)) return skip("no NCCL log");
    Outcome outcome;
    find_trouble(outcome, evidence, LogTrouble::modify_qp,
                 {.severity = Severity::fault,
                  .title = "Two RDMA ports cannot reach each other (ibv_modify_qp failed)",
                  .effect = "the run fails when it connects; typical of rails that are not joined",
                  .fix = "--set nccl.NCCL_CROSS_NIC=0 on rail-only fabrics; else check routes "
                         "between the NICs' subnets",
                  .impact = 1});
    find_trouble(outcome, evidence, LogTrouble::foreign_device,
                 {.severity = Severity::fault,
                  .title = "An RDMA port is not this container's (ibv_modify_qp: No such device)",
                  .effect = "the run fails when it connects",
                  .fix = "set nccl.NCCL_IB_HCA to the devices that show_gids lists inside the "
                         "container (SR-IOV: its virtual functions), or use the host's network",
                  .impact = 1});
    return outcome;
}

Outcome check_efa(Evidence const& evidence) {
    bool const any = std::ranges::any_of(
        evidence.nodes, [](auto const& node) { return has_kind(node, NicKind::efa); });
    bool const logged =
        any_trouble(evidence, LogTrouble::ofi) || any_trouble(evidence, LogTrouble::ofi_memory);
    if (!any && !logged) return skip("no EFA");
    Outcome outcome;
    find_trouble(outcome, evidence, LogTrouble::ofi_memory,
                 {.severity = Severity::fault,
                  .title = "libfabric could not register memory of a GPU",
                  .effect = "the run fails when it connects",
                  .fix = "take the EFA installer 1.29.1 or later, which NCCL 2.19 and later need; "
                         "with an older one set FI_EFA_SET_CUDA_SYNC_MEMOPS=0",
                  .impact = 1});
    find_trouble(outcome, evidence, LogTrouble::ofi,
                 {.severity = Severity::fault,
                  .title = "libfabric does not get through over EFA",
                  .effect = "the run hangs or falls back to TCP",
                  .fix = "let the security group send to itself (all traffic, in and out); check "
                         "fi_info -p efa",
                  .impact = 0.95});
    return outcome;
}

namespace {

bool is_link_local(std::string const& gid) {
    return gid.starts_with("fe80");
}

bool is_empty(std::string const& gid) {
    return gid.empty() || gid.find_first_not_of("0:") == std::string::npos;
}

bool is_routable_v2(Gid const& gid) {
    return gid.type.find("v2") != std::string::npos && !is_link_local(gid.value) &&
           !is_empty(gid.value);
}

/// What is wrong with GID `index` of a port; "" if it is fine or unknown.
std::string gid_fault(Nic const& nic, long index) {
    auto const found = std::ranges::find(nic.gids, index, &Gid::index);
    if (found == nic.gids.end() || is_empty(found->value)) {
        return fmt::format("{} has no GID {}", nic.device, index);
    }
    if (is_link_local(found->value)) {
        return fmt::format("GID {} of {} is link-local ({})", index, nic.device, found->value);
    }
    if (found->type.find("v1") != std::string::npos) {
        return fmt::format("GID {} of {} is {}", index, nic.device, found->type);
    }
    return {};
}

/// "3 (RoCE v2)" for the first that routes.
std::string better_gid(Nic const& nic) {
    auto const found = std::ranges::find_if(nic.gids, is_routable_v2);
    return found == nic.gids.end() ? "" : fmt::format("{} (RoCE v2)", found->index);
}

void check_gids_of(NodeEvidence const& node, Outcome& outcome) {
    auto const index = number_of(node, "NCCL_IB_GID_INDEX");
    auto const version = version_of(node, "nccl");
    bool const automatic = version.empty() || compare_versions(version, "2.21") >= 0;
    for (auto const* nic : compute_nics(node)) {
        if (nic->kind != NicKind::roce || nic->gids.empty()) continue;
        if (std::ranges::none_of(nic->gids, is_routable_v2)) {
            outcome.findings.push_back(
                {.severity = Severity::fault,
                 .nodes = {node.name},
                 .title = nic->device + " has no RoCE v2 address that routes",
                 .seen = fmt::format("{} GIDs, none of RoCE v2 but link-local", nic->gids.size()),
                 .effect = "connections between subnets fail or time out",
                 .fix = "give its interface an IPv4 address",
                 .impact = 1});
            return;
        }
        long const used = index.value_or(automatic ? -1 : 0);
        auto const fault = used < 0 ? std::string() : gid_fault(*nic, used);
        if (fault.empty()) continue;
        auto const better = better_gid(*nic);
        outcome.findings.push_back(
            {.severity = Severity::fault,
             .nodes = {node.name},
             .title = fmt::format("NCCL_IB_GID_INDEX {} is not an address that routes",
                                  index ? fmt::format("{}", *index) : "0, the default,"),
             .seen = fault,
             .effect = "connections fail, or run as RoCE v1 without the lossless class",
             .fix = automatic ? "unset NCCL_IB_GID_INDEX: NCCL 2.21 and later find it"
                              : fmt::format("--set nccl.NCCL_IB_GID_INDEX={}",
                                            better.substr(0, better.find(' '))),
             .impact = 1});
        return;
    }
    auto const* set = setting(node, "NCCL_IB_GID_INDEX");
    if (set == nullptr || *set->value.begin() == '-' || !automatic) return;
    outcome.findings.push_back(
        {.severity = version.empty() ? Severity::info : Severity::warning,
         .nodes = {node.name},
         .title = "NCCL_IB_GID_INDEX is set, and NCCL 2.21 and later find it by themselves",
         .seen = fmt::format("{} from {}{}", set->value, set->origin,
                             version.empty() ? "" : "; NCCL " + version),
         .effect = "indices move when an interface goes down and up; the next start then fails",
         .fix = "unset it",
         .impact = 0.05});
}

}  // namespace

Outcome check_gid(Evidence const& evidence) {
    bool const any = std::ranges::any_of(
        evidence.nodes, [](auto const& node) { return has_kind(node, NicKind::roce); });
    if (!any && !any_log(evidence)) return skip("no RoCE");
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        // Without GPUs ranks communicate over TCP.
        if (has_kind(node, NicKind::roce) && has_gpus(node)) check_gids_of(node, outcome);
    }
    find_trouble(outcome, evidence, LogTrouble::bad_gid,
                 {.severity = Severity::fault,
                  .title = "A queue pair was refused: its GID is not there",
                  .effect = "the run fails when it connects",
                  .fix = "unset NCCL_IB_GID_INDEX (NCCL 2.21 and later), or set the index that "
                         "show_gids prints for RoCE v2",
                  .impact = 1});
    find_trouble(outcome, evidence, LogTrouble::gid_version,
                 {.severity = Severity::fault,
                  .title = "NCCL cannot read GIDs that are not this container's",
                  .effect = "the run fails when it connects",
                  .fix = "take NCCL 2.26 or later; or set NCCL_IB_GID_INDEX to the index that "
                         "show_gids prints for RoCE v2 inside the container, in each its own",
                  .impact = 1});
    return outcome;
}

Outcome check_queue_pairs(Evidence const& evidence) {
    bool const any = std::ranges::any_of(
        evidence.nodes, [](auto const& node) { return has_kind(node, NicKind::roce); });
    if (!any) return skip("no RoCE");
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        if (number_of(node, "NCCL_IB_QPS_PER_CONNECTION").value_or(1) > 1) continue;
        for (auto const* nic : compute_nics(node)) {
            if (nic->kind != NicKind::roce || nic->device.find("bond") == std::string::npos)
                continue;
            outcome.findings.push_back(
                {.severity = many_nodes(evidence) ? Severity::warning : Severity::info,
                 .nodes = {node.name},
                 .title = nic->device + " is a bond, and a connection has one queue pair",
                 .seen = "NCCL_IB_QPS_PER_CONNECTION is not set (1)",
                 .effect = "a connection takes one of the bond's ports: up to half is lost",
                 .fix = "try --set nccl.NCCL_IB_QPS_PER_CONNECTION=2 (osora tune --nccl)",
                 .impact = 0.3});
            break;
        }
    }
    return outcome;
}

}  // namespace osora::topology::doctor
