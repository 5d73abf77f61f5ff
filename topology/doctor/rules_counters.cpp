// Rules about counters of RDMA ports: rows 7 and 14. Two readings show what happens now; a single
// one only what happened once.
#include "topology/doctor/lost_peers.hpp"
#include "topology/doctor/rules_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace osora::topology::doctor {
namespace {

NicKind kind_of(NodeEvidence const& node, std::string const& device) {
    if (!node.machine) return NicKind::other;
    for (auto const& each : node.machine->nics) {
        if (each.device == device) return each.kind;
    }
    return NicKind::other;
}

bool any_counters(Evidence const& evidence, bool roce) {
    for (auto const& node : evidence.nodes) {
        for (auto const& each : node.counters) {
            if ((kind_of(node, each.device) == NicKind::roce) == roce) return true;
        }
    }
    return false;
}

struct CounterRule {
    std::string_view name;
    bool fault;          // else a warning
    std::int64_t least;  // increase that counts
    std::string_view meaning;
};

CounterRule const* rule_of(std::span<CounterRule const> rules, std::string const& name) {
    auto const found = std::ranges::find(rules, name, &CounterRule::name);
    return found == rules.end() ? nullptr : &*found;
}

struct CounterFinding {
    std::span<CounterRule const> rules;
    std::string effect, fix;
    double impact;
};

void check_node(NodeEvidence const& node, bool roce, CounterFinding const& what, Outcome& outcome) {
    for (auto const& each : node.counters) {
        auto const* rule = rule_of(what.rules, each.name);
        if (rule == nullptr || (kind_of(node, each.device) == NicKind::roce) != roce) continue;
        std::int64_t const grown = each.value - each.before.value_or(0);
        if (grown < rule->least) continue;
        bool const now = each.before.has_value();
        Severity const severity = !now          ? Severity::info
                                  : rule->fault ? Severity::fault
                                                : Severity::warning;
        outcome.findings.push_back(
            {.severity = severity,
             .nodes = {node.name},
             .title = now ? fmt::format("{}: {}", each.device, rule->meaning)
                          : fmt::format("{} has counted {} since it was started", each.device,
                                        each.name),
             .seen = now ? fmt::format("{} grew by {} (to {})", each.name, grown, each.value)
                         : fmt::format("{} {}; a second reading shows whether it grows", each.name,
                                       each.value),
             .effect = now ? what.effect : "",
             .fix = now ? what.fix : "",
             .impact = now ? what.impact : 0.0});
    }
}

constexpr std::array kRoce{
    CounterRule{"out_of_sequence", false, 1, "packets arrive out of order or are lost"},
    CounterRule{"packet_seq_err", true, 1, "packets were lost and sent again"},
    CounterRule{"local_ack_timeout_err", true, 1, "answers did not come in time"},
    CounterRule{"rnr_nak_retry_err", true, 1, "the receiver was not ready until retries ran out"},
    CounterRule{"roce_adp_retrans", false, 1, "packets were sent again"},
    CounterRule{"implied_nak_seq_err", false, 1, "answers were lost"},
    CounterRule{"rx_discards_phy", true, 1, "the port has dropped packets"},
};

constexpr std::array kInfiniband{
    CounterRule{"link_downed", true, 1, "the link went down"},
    CounterRule{"link_error_recovery", true, 1, "the link had to recover"},
    CounterRule{"symbol_error", false, 1, "bit errors on the link"},
    CounterRule{"port_rcv_errors", false, 1, "packets arrived broken"},
    CounterRule{"local_link_integrity_errors", true, 1, "the link is not sound"},
    CounterRule{"excessive_buffer_overrun_errors", false, 1, "buffers ran over"},
    CounterRule{"local_ack_timeout_err", true, 1, "answers did not come in time"},
    CounterRule{"packet_seq_err", false, 1, "packets were lost and sent again"},
};

}  // namespace

Outcome check_roce_loss(Evidence const& evidence) {
    if (!any_counters(evidence, true)) return skip("no RoCE counters");
    CounterFinding const what{
        kRoce, "RoCE without a lossless class: 0.x GB/s under load is typical",
        "make the switch's PFC/ECN class and NCCL_IB_TC agree (mlnx_qos shows the port's; "
        "--set nccl.NCCL_IB_TC=106 where the lossless class is DSCP 26)",
        0.7};
    Outcome outcome;
    for (auto const& node : evidence.nodes) check_node(node, true, what, outcome);
    return outcome;
}

Outcome check_traffic_class(Evidence const& evidence) {
    bool const any = std::ranges::any_of(
        evidence.nodes, [](auto const& node) { return !node.traffic_class.empty(); });
    if (!any) return skip("no traffic class known");
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        auto const asked = number_of(node, "NCCL_IB_TC");
        for (auto const& [device, forced] : node.traffic_class) {
            if (!asked || *asked < 0 || *asked == forced) continue;
            outcome.findings.push_back(
                {.severity = Severity::warning,
                 .nodes = {node.name},
                 .title =
                     fmt::format("NCCL_IB_TC={} is not the traffic class of {}", *asked, device),
                 .seen = fmt::format("sys/class/infiniband/{}/tc says {}", device, forced),
                 .effect = "messages leave the lossless class: drops and retransmissions",
                 .fix = fmt::format("--set nccl.NCCL_IB_TC={}", forced),
                 .impact = 0.5});
        }
    }
    return outcome;
}

Outcome check_link_errors(Evidence const& evidence) {
    bool const counted = any_counters(evidence, false);
    if (!counted && !any_log(evidence)) return skip("no port counters");
    CounterFinding const what{
        kInfiniband, "retries stall every rank; a link that goes down ends the run (error 12)",
        "exclude the node " + std::string(kExclude) + ", clean or replace the cable", 0.5};
    Outcome outcome;
    for (auto const& node : evidence.nodes) check_node(node, false, what, outcome);
    check_lost_peers(evidence, outcome);
    return outcome;
}

}  // namespace osora::topology::doctor
