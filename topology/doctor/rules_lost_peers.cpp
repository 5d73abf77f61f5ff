// Cause before secondary failure: part of row 14. The node whose port went down logs "port error";
// the others then wait for it until their retries run out, "error 12" (nccl#905).
#include "base/host_list.hpp"
#include "base/text/text.hpp"
#include "topology/doctor/lost_peers.hpp"
#include "topology/doctor/rules_internal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

namespace osora::topology::doctor {
namespace {

bool has(NodeEvidence const& node, LogTrouble trouble) {
    return node.log.troubles.contains(trouble);
}

/// "node-48" and "node48" are one host: its own name and its network name may differ like that.
std::string plain_name(std::string_view name) {
    std::string plain;
    for (char const each : name.substr(0, name.find('.'))) {
        bool const letter = std::isalnum(static_cast<unsigned char>(each)) != 0;
        if (letter) plain += static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
    }
    return plain;
}

bool has_address(NodeEvidence const& node, std::string const& address) {
    return std::ranges::any_of(node.log.addresses,
                               [&](auto const& each) { return each.second == address; });
}

/// The node that a peer's name or address belongs to; unchanged if no node's log shows it.
std::string host_of_peer(Evidence const& evidence, std::string const& peer) {
    bool const is_address = peer.find_first_not_of("0123456789.") == std::string::npos;
    for (auto const& node : evidence.nodes) {
        bool const same =
            is_address ? has_address(node, peer) : plain_name(node.name) == plain_name(peer);
        if (same) return node.name;
    }
    return peer;
}

std::vector<std::string> peers_of(Evidence const& evidence, NodeEvidence const& node) {
    std::set<std::string> hosts;
    for (auto const& each : node.log.lost_peers) hosts.insert(host_of_peer(evidence, each));
    return {hosts.begin(), hosts.end()};
}

std::vector<std::string> stopped_nodes(Evidence const& evidence) {
    std::vector<std::string> names;
    for (auto const& node : evidence.nodes) {
        bool const stopped =
            has(node, LogTrouble::port_event) || has(node, LogTrouble::device_fatal);
        if (stopped) names.push_back(node.name);
    }
    return names;
}

void add_echo(NodeEvidence const& node, std::vector<std::string> const& causes, Outcome& outcome) {
    outcome.findings.push_back(
        {.severity = Severity::info,
         .nodes = {node.name},
         .title = fmt::format("Secondary to the port error on {}: a peer no longer answered",
                              fold_hosts(causes)),
         .seen = "log: " + node.log.troubles.at(LogTrouble::retry_exceeded),
         .effect = "none by itself",
         .fix = ""});
}

void add_lost(Evidence const& evidence, NodeEvidence const& node, Outcome& outcome) {
    auto const peers = peers_of(evidence, node);
    std::string const who = peers.empty() ? "the peer" : fmt::format("{}", fmt::join(peers, ", "));
    outcome.findings.push_back(
        {.severity = Severity::fault,
         .nodes = {node.name},
         .title = peers.empty() ? std::string("A peer no longer answered over RDMA (status 12)")
                                : fmt::format("{} no longer answered over RDMA (status 12)", who),
         .seen = "log: " + node.log.troubles.at(LogTrouble::retry_exceeded),
         .effect = "the run ends",
         .fix = fmt::format("look at {}'s own log and at the link counters of both ends; "
                            "NCCL_IB_TIMEOUT=22 only where the fabric is large and lossy",
                            who),
         .impact = 0.9});
}

struct CompletionStatus {
    int status;
    std::string_view name, fix;
};

constexpr std::string_view kGdrFix =
    "prove it with NCCL_NET_GDR_LEVEL=LOC (no GPUDirect) for one run; then look at ACS, the IOMMU, "
    "nvidia_peermem and the driver";
constexpr std::string_view kSizesFix =
    "all ranks must call the same collectives with the same sizes, and have the same NCCL and NCCL "
    "settings (NCCL_BUFFSIZE)";

/// ibv_poll_cq(3); NVIDIA/nccl issues 214, 523 and 949 for status 4 and 11.
constexpr std::array kStatuses{
    CompletionStatus{1, "local length error", kSizesFix},
    CompletionStatus{4, "local protection error", kGdrFix},
    CompletionStatus{9, "remote invalid request", kSizesFix},
    CompletionStatus{10, "remote access error", kGdrFix},
    CompletionStatus{11, "remote operation error", kGdrFix},
    CompletionStatus{13, "receiver not ready", "look at the peer's own log: its rank is too slow"}};

/// 10 of "status=10 opcode=0", "status=IBV_WC_REM_ACCESS_ERR(10)", "with error 10, opcode 0".
int status_of(std::string_view line) {
    for (std::string_view const key : {"status=", "error "}) {
        std::size_t const at = line.find(key);
        if (at == std::string_view::npos) continue;
        auto text = line.substr(at + key.size());
        if (text.starts_with("IBV_"))
            text = text.substr(std::min(text.find('('), text.size() - 1) + 1);
        if (auto const number = leading_number<int>(text)) return *number;
    }
    return -1;
}

void check_completions(Evidence const& evidence, Outcome& outcome) {
    for (auto const& node : evidence.nodes) {
        auto const found = node.log.troubles.find(LogTrouble::completion);
        if (found == node.log.troubles.end()) continue;
        int const status = status_of(found->second);
        auto const known = std::ranges::find(kStatuses, status, &CompletionStatus::status);
        bool const is_known = known != kStatuses.end();
        outcome.findings.push_back(
            {.severity = Severity::fault,
             .nodes = {node.name},
             .title = is_known ? fmt::format("An RDMA transfer failed: {} (status {})", known->name,
                                             status)
                      : status >= 0 ? fmt::format("An RDMA transfer failed (status {})", status)
                                    : "An RDMA transfer failed",
             .seen = "log: " + found->second,
             .effect = "the run ends",
             .fix = is_known ? std::string(known->fix)
                             : "ibv_poll_cq(3) explains the status; look at the peer's own log and "
                               "at the link counters of both ends",
             .impact = 0.9});
    }
}

/// Status 5 follows an error on the same connection: at this end, or when the peer's rank exits.
void check_flushed(Evidence const& evidence, Outcome& outcome) {
    if (!outcome.findings.empty()) return;
    find_trouble(outcome, evidence, LogTrouble::flushed,
                 {.severity = Severity::warning,
                  .title = "RDMA transfers were flushed (status 5): their connection had failed",
                  .effect = "the run ends; this is not the cause",
                  .fix = "look for the first error in the logs of all ranks, the peer's above all",
                  .impact = 0.3});
}

/// The rank that closed a connection exited first; the reason is in its own log.
void check_closed(Evidence const& evidence, Outcome& outcome) {
    if (!outcome.findings.empty()) return;
    find_trouble(outcome, evidence, LogTrouble::peer_closed,
                 {.severity = Severity::warning,
                  .title = "A peer's rank ended before this node's",
                  .effect = "the run ends; this node is not the cause",
                  .fix = "look at the end of the log of the peer that is named",
                  .impact = 0.3});
}

}  // namespace

void check_lost_peers(Evidence const& evidence, Outcome& outcome) {
    auto const causes = stopped_nodes(evidence);
    find_trouble(outcome, evidence, LogTrouble::port_event,
                 {.severity = Severity::fault,
                  .title = "A port went down while the run used it",
                  .effect = "the run ends or stalls",
                  .fix = "exclude the node " + std::string(kExclude) +
                         ", check cable, port and switch (counters: link_downed)",
                  .impact = 1});
    find_trouble(outcome, evidence, LogTrouble::device_fatal,
                 {.severity = Severity::fault,
                  .title = "An RDMA device stopped working",
                  .effect = "the run ends",
                  .fix = "exclude the node " + std::string(kExclude) +
                         ", look for the device in dmesg, reset or replace it",
                  .impact = 1});
    for (auto const& node : evidence.nodes) {
        if (!has(node, LogTrouble::retry_exceeded)) continue;
        bool const stopped = std::ranges::find(causes, node.name) != causes.end();
        if (causes.empty()) add_lost(evidence, node, outcome);
        if (!causes.empty() && !stopped) add_echo(node, causes, outcome);
    }
    check_completions(evidence, outcome);
    check_flushed(evidence, outcome);
    check_closed(evidence, outcome);
}

}  // namespace osora::topology::doctor
