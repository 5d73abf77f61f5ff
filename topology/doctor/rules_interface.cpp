// Rules about the interfaces used for TCP: rows 2 and 22, and their MTU.
#include "topology/doctor/interface_names.hpp"
#include "topology/doctor/rules_internal.hpp"

#include "base/robust.hpp"
#include "base/text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace osora::topology::doctor {
namespace {

std::vector<Nic const*> interfaces(NodeEvidence const& node) {
    std::vector<Nic const*> list;
    if (!node.machine) return list;
    for (auto const& each : node.machine->nics) {
        if (!each.interface.empty()) list.push_back(&each);
    }
    return list;
}

/// Interfaces that are up, of those that `chosen` allows; of all if it is nullptr.
std::vector<Nic const*> usable(NodeEvidence const& node, NameFilter const* chosen) {
    auto list = interfaces(node);
    bool const addresses = std::ranges::any_of(
        list, [](Nic const* each) { return !each->addresses.empty() && each->interface != "lo"; });
    std::erase_if(list, [&](Nic const* each) {
        bool const out = chosen != nullptr && !chosen->matches(each->interface);
        bool const nowhere = each->interface == "lo" || !each->up;
        return out || nowhere || (addresses && each->addresses.empty());
    });
    return list;
}

double fastest(std::vector<Nic const*> const& list) {
    double rate = 0;
    for (auto const* each : list) {
        if (!is_host_internal(each->interface)) rate = std::max(rate, each->rate_gbit);
    }
    return rate;
}

std::string names_of(std::vector<Nic const*> const& list) {
    std::vector<std::string> names;
    for (auto const* each : list) {
        names.push_back(each->rate_gbit > 0 ? fmt::format("{} ({})", each->interface,
                                                          format_gbit_per_s(each->rate_gbit))
                                            : each->interface);
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

/// The interface to name in a fix: the fastest of the machine, or the one in its log or the others'
/// logs; "" = none is known.
std::string best_name(Evidence const& evidence, NodeEvidence const& node) {
    auto const list = usable(node, nullptr);
    double const rate = fastest(list);
    for (auto const* each : list) {
        if (!is_host_internal(each->interface) && each->rate_gbit == rate) return each->interface;
    }
    return logged_interface(evidence, node);
}

struct Choice {
    NodeEvidence const& node;
    std::string variable;  // "NCCL_SOCKET_IFNAME"
    std::string value, origin;
    NameFilter filter;
    bool carries_data;  // no RDMA: the gradients go over it
    std::string best;   // the interface that it should be; "" = unknown
};

/// "--set nccl.NCCL_SOCKET_IFNAME="=eth0"", or how to find the name if none is known.
std::string fix_of(std::string const& variable, std::string const& best) {
    bool const nccl = variable == "NCCL_SOCKET_IFNAME";
    if (best.empty()) {
        return fmt::format(
            "unset {}, or name the interface that leads to the other nodes (ip -br address)",
            variable);
    }
    return nccl ? fmt::format("--set nccl.{}=\"={}\"", variable, best)
                : fmt::format("--set worker.env.{}={}", variable, best);
}

Finding wrong(Choice const& choice, std::string title, std::string seen) {
    return {.severity = Severity::fault,
            .nodes = {choice.node.name},
            .title = std::move(title),
            .seen = fmt::format("{}={} from {}; {}", choice.variable, choice.value, choice.origin,
                                seen),
            .effect = "the run hangs when it connects",
            .fix = fix_of(choice.variable, choice.best),
            .impact = 1};
}

/// Prefixes that match more than intended: eth1 also matches eth10.
void check_prefix(Choice const& choice, Outcome& outcome) {
    if (choice.filter.exact || choice.filter.exclude) return;
    for (auto const& name : choice.filter.names) {
        std::vector<std::string> caught;
        bool itself = false;
        for (auto const* each : usable(choice.node, &choice.filter)) {
            if (each->interface == name) itself = true;
            if (each->interface != name && each->interface.starts_with(name)) {
                caught.push_back(each->interface);
            }
        }
        if (!itself || caught.empty()) continue;
        outcome.findings.push_back(
            {.severity = Severity::warning,
             .nodes = {choice.node.name},
             .title = fmt::format("{}={} also takes {}", choice.variable, choice.value,
                                  fmt::join(caught, ", ")),
             .seen = "a name matches all that begin with it; from " + choice.origin,
             .effect = "traffic may go over the other one",
             .fix = fmt::format("--set nccl.{}=\"={}\"", choice.variable, choice.value),
             .impact = 0.2});
    }
}

void check_choice(Evidence const& evidence, Choice const& choice, Outcome& outcome) {
    auto const all = interfaces(choice.node);
    if (all.empty()) return;
    auto const list = usable(choice.node, &choice.filter);
    if (list.empty()) {
        bool const known = std::ranges::any_of(
            all, [&](Nic const* each) { return choice.filter.matches(each->interface); });
        if (known && !many_nodes(evidence)) return;  // the loopback will do for one node
        outcome.findings.push_back(wrong(
            choice, fmt::format("{} names no interface that leads to other nodes", choice.variable),
            known ? "it is down, without an address, or the loopback"
                  : "there are " + names_of(usable(choice.node, nullptr))));
        return;
    }
    bool const internal = std::ranges::all_of(
        list, [](Nic const* each) { return is_host_internal(each->interface); });
    if (internal) {
        outcome.findings.push_back(
            wrong(choice, fmt::format("{} names a bridge inside the host", choice.variable),
                  names_of(list)));
        return;
    }
    double const chosen = fastest(list), best = fastest(usable(choice.node, nullptr));
    if (chosen > 0 && best >= 2 * chosen) {
        auto finding = wrong(
            choice, fmt::format("{} takes a slow interface", choice.variable),
            fmt::format("{}, but {} has {}", names_of(list), choice.best, format_gbit_per_s(best)));
        finding.severity = choice.carries_data ? Severity::fault : Severity::warning;
        finding.effect = choice.carries_data
                             ? fmt::format("gradients at 1/{:.0f} of the speed", best / chosen)
                             : "start and control messages are slower";
        finding.impact = choice.carries_data ? 1 - chosen / best : 0.1;
        outcome.findings.push_back(std::move(finding));
    }
    check_prefix(choice, outcome);
}

/// Whether it is about a single interface: also pairs on the network that ranks meet on.
bool tells_of_interface(topology::PairSample const& sample) {
    return sample.stage == ProbeStage::interface_one ||
           (sample.stage == ProbeStage::matching && sample.network.empty());
}

/// Gbit/s of a node over each interface that the probe used; medians.
std::map<std::string, double> measured(ProbeResult const& probe, int node) {
    std::map<std::string, std::vector<double>> samples;
    for (auto const& each : probe.pairs) {
        if (!tells_of_interface(each) || each.from != node) continue;
        if (each.interface.empty() || !(each.seconds > 0)) continue;
        samples[each.interface].push_back(static_cast<double>(each.size_bytes) * 8e-9 /
                                          each.seconds);
    }
    std::map<std::string, double> medians;
    for (auto& [name, values] : samples) medians[name] = median(std::move(values));
    return medians;
}

void check_probe(ProbeResult const& probe, Outcome& outcome) {
    std::vector<std::string> used;
    for (auto const& each : probe.scores) {
        if (!each.interface.empty()) used.push_back(each.interface);
    }
    auto const usual = majority(used);
    for (std::size_t i = 0; i < std::min(probe.scores.size(), probe.nodes.size()); ++i) {
        auto const& score = probe.scores[i];
        auto const rates = measured(probe, static_cast<int>(i));
        auto const own = rates.find(score.interface);
        auto const best =
            std::ranges::max_element(rates, {}, [](auto const& each) { return each.second; });
        bool const slower = own != rates.end() && best->second > 1.25 * own->second;
        bool const odd =
            usual && !score.interface.empty() && score.interface != *usual && score.bad;
        if (!slower && !odd) continue;
        std::string const better = slower ? best->first : *usual;
        std::string const seen =
            slower ? fmt::format("{} measured {}, {} {}", score.interface,
                                 format_gbit_per_s(own->second), best->first,
                                 format_gbit_per_s(best->second))
                   : fmt::format("the others use {}; {:.2f} of the median bandwidth", *usual,
                                 score.of_median);
        double const share = slower ? own->second / best->second : score.of_median;
        outcome.findings.push_back(
            {.severity = Severity::fault,
             .nodes = {probe.nodes[i]},
             .title = fmt::format("Traffic goes over {}, the slower interface", score.interface),
             .seen = seen,
             .effect = fmt::format("every collective waits for it: {:.2f} of the speed", share),
             .fix = fmt::format("--set nccl.NCCL_SOCKET_IFNAME=\"={0}\", for CPU ranks "
                                "--set worker.env.GLOO_SOCKET_IFNAME={0}",
                                better),
             .impact = 1 - std::clamp(share, 0.0, 1.0)});
    }
}

}  // namespace

Outcome check_interface(Evidence const& evidence) {
    bool const logged = any_log(evidence);
    if (!any_machine(evidence) && !logged && !evidence.probe) return skip("no interface known");
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        for (char const* variable : {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}) {
            auto const* set = setting(node, variable);
            if (set == nullptr) continue;
            Choice choice{node,
                          variable,
                          set->value,
                          set->origin,
                          parse_filter(set->value),
                          rdma_up(node).empty(),
                          best_name(evidence, node)};
            if (choice.variable == "GLOO_SOCKET_IFNAME") choice.filter.exact = true;
            check_choice(evidence, choice, outcome);
        }
        check_logged_interfaces(evidence, node, best_name(evidence, node), outcome);
    }
    if (evidence.probe) check_probe(*evidence.probe, outcome);
    check_connections(evidence, outcome);
    return outcome;
}

Outcome check_mtu(Evidence const& evidence) {
    std::map<std::string, std::vector<int>> by_name;
    for (auto const& node : evidence.nodes) {
        for (auto const* each : usable(node, nullptr)) {
            if (each->mtu > 0 && !is_host_internal(each->interface)) {
                by_name[each->interface].push_back(each->mtu);
            }
        }
    }
    if (evidence.nodes.size() < 2) return skip("one node");
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        for (auto const* each : usable(node, nullptr)) {
            if (each->mtu <= 0 || is_host_internal(each->interface)) continue;
            auto const usual = majority(by_name[each->interface]);
            if (!usual || *usual == each->mtu) continue;
            outcome.findings.push_back(
                {.severity = Severity::warning,
                 .nodes = {node.name},
                 .title = fmt::format("{} has an MTU of {}, most nodes {}", each->interface,
                                      each->mtu, *usual),
                 .seen = fmt::format("mtu {}", each->mtu),
                 .effect = "large messages stall or are cut where a switch drops them",
                 .fix = fmt::format("ip link set {} mtu {}", each->interface, *usual),
                 .impact = 0.3});
        }
    }
    return outcome;
}

}  // namespace osora::topology::doctor
