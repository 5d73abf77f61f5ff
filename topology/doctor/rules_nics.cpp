// Rules about the presence of NICs and GPUs, and the state of their links: rows 9, 10, 11.
#include "topology/doctor/rules_internal.hpp"

#include "base/text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace osora::topology::doctor {
namespace {

/// RDMA ports in order, including those that are down.
std::vector<Nic const*> rdma_all(NodeEvidence const& node) {
    std::vector<Nic const*> nics;
    if (!node.machine) return nics;
    for (auto const& each : node.machine->nics) {
        if (is_rdma(each)) nics.push_back(&each);
    }
    return nics;
}

/// Ports that are up, by rate: NCCL takes the minimum of these over ranks.
std::size_t ports_at(NodeEvidence const& node, double rate) {
    auto const nics = rdma_up(node);
    return static_cast<std::size_t>(std::ranges::count_if(
        nics, [&](Nic const* each) { return each->rate_gbit >= 0.9 * rate; }));
}

std::string exclude_or(std::string const& repair) {
    return fmt::format("exclude it {}, {}", kExclude, repair);
}

Nic const* nic_named(NodeEvidence const& node, std::string const& device) {
    for (auto const* each : rdma_all(node)) {
        if (each->device == device) return each;
    }
    return nullptr;
}

/// Names of the usual NICs, and their usual rate.
std::map<std::string, double> usual_nics(Evidence const& evidence) {
    std::map<std::string, std::vector<double>> rates;
    std::size_t machines = 0;
    for (auto const& node : evidence.nodes) {
        if (!node.machine) continue;
        ++machines;
        for (auto const* each : rdma_up(node)) rates[each->device].push_back(each->rate_gbit);
    }
    std::map<std::string, double> usual;
    for (auto const& [device, values] : rates) {
        if (values.size() * 2 <= machines || values.size() < 2) continue;
        if (auto const rate = majority(values)) usual[device] = *rate;
    }
    return usual;
}

std::string state_of(NodeEvidence const& node, std::string const& device) {
    auto const* nic = nic_named(node, device);
    if (nic == nullptr) return device + " is not there";
    return nic->up ? fmt::format("{} runs at {}", device, format_gbit_per_s(nic->rate_gbit))
                   : device + " is down";
}

void compare_with_others(NodeEvidence const& node, std::map<std::string, double> const& usual,
                         Evidence const& evidence, Outcome& outcome) {
    double fastest = 0;
    for (auto const& [device, rate] : usual) fastest = std::max(fastest, rate);
    std::vector<std::string> bad;
    std::size_t compute = 0;
    for (auto const& [device, rate] : usual) {
        if (rate >= 0.9 * fastest) ++compute;
        auto const* nic = nic_named(node, device);
        bool const well = nic != nullptr && nic->up && nic->rate_gbit >= 0.9 * rate;
        if (!well && rate >= 0.9 * fastest) bad.push_back(device);
    }
    std::size_t const have = ports_at(node, fastest);
    if (bad.empty() || have >= compute) return;  // cards may have other names here
    std::vector<std::string> seen;
    for (auto const& each : bad) seen.push_back(state_of(node, each));
    outcome.findings.push_back(
        {.severity = Severity::fault,
         .nodes = {node.name},
         .title = fmt::format("{} of {} RDMA ports at full rate, most nodes have {}", have, compute,
                              compute),
         .seen = fmt::format("{}{}", fmt::join(seen, ", "), bandwidth_note(evidence, node.name)),
         .effect = "the whole job runs with that many (NCCL takes the minimum over ranks)",
         .fix = exclude_or("check cable, port and card"),
         .impact = 1 - static_cast<double>(have) /
                           static_cast<double>(std::max<std::size_t>(compute, 1))});
}

/// One of several similar InfiniBand ports of a node is down.
void check_alone(NodeEvidence const& node, Outcome& outcome) {
    std::map<std::pair<double, int>, std::vector<Nic const*>> alike;  // by the card's PCIe link
    for (auto const* each : rdma_all(node)) {
        if (each->kind == NicKind::infiniband) {
            alike[{each->link.max_gt_s, each->link.max_width}].push_back(each);
        }
    }
    for (auto const& [link, nics] : alike) {
        std::vector<std::string> down;
        for (auto const* each : nics) {
            if (!each->up) down.push_back(each->device);
        }
        if (nics.size() < 4 || down.size() != 1) continue;
        outcome.findings.push_back(
            {.severity = Severity::warning,
             .nodes = {node.name},
             .title = fmt::format("{} is down, its {} likes are up", down[0], nics.size() - 1),
             .seen = "state of the port: not ACTIVE",
             .effect = "NCCL takes one NIC less, on every node",
             .fix = "check cable and switch port (ibstat " + down[0] + ")",
             .impact = 1.0 / static_cast<double>(nics.size())});
    }
}

}  // namespace

Outcome check_missing_nic(Evidence const& evidence) {
    bool const any = std::ranges::any_of(evidence.nodes,
                                         [](auto const& node) { return !rdma_all(node).empty(); });
    if (!any) return skip("no RDMA NIC");
    Outcome outcome;
    auto const usual = usual_nics(evidence);
    for (auto const& node : evidence.nodes) {
        if (!node.machine) continue;
        if (usual.empty()) {
            check_alone(node, outcome);
        } else {
            compare_with_others(node, usual, evidence, outcome);
        }
    }
    return outcome;
}

Outcome check_missing_gpu(Evidence const& evidence) {
    std::vector<std::size_t> counts;
    for (auto const& node : evidence.nodes) {
        if (node.machine) counts.push_back(node.machine->gpus.size());
    }
    if (counts.size() < 2) return skip("one node");
    auto const usual = majority(counts);
    if (std::ranges::all_of(counts, [](std::size_t each) { return each == 0; })) {
        return skip("no GPU");
    }
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        if (!node.machine || !usual || node.machine->gpus.size() >= *usual) continue;
        std::size_t const have = node.machine->gpus.size();
        outcome.findings.push_back(
            {.severity = Severity::fault,
             .nodes = {node.name},
             .title = fmt::format("{} GPUs, most nodes have {}", have, *usual),
             .seen = "by PCI and the driver's list",
             .effect = "ranks that ask for the missing ones fail at the start",
             .fix = exclude_or("look for Xid 79 in dmesg, power-cycle it"),
             .impact = 1});
    }
    return outcome;
}

Outcome check_nic_use(Evidence const& evidence) {
    if (!any_log(evidence)) return skip("no NCCL log");
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        std::size_t const listed = node.log.rdma_devices.size();
        std::size_t const used = node.log.nics_used.size();
        std::size_t const there = compute_nics(node).size();
        std::size_t const gpus = has_gpus(node) ? node.machine->gpus.size() : 0;
        bool const few_listed = listed > 0 && there > 0 && listed < there && gpus >= there;
        bool const few_used = listed > 1 && used > 0 && used < listed && gpus >= listed &&
                              node.log.via_ib >= 2 * static_cast<int>(listed);
        if (!few_listed && !few_used) continue;
        std::size_t const have = few_listed ? listed : used, could = few_listed ? there : listed;
        outcome.findings.push_back(
            {.severity = Severity::fault,
             .nodes = {node.name},
             .title = fmt::format("NCCL uses {} of {} NICs", have, could),
             .seen = few_listed ? fmt::format("log: NET/IB : Using {}; {} ports are up",
                                              fmt::join(node.log.rdma_devices, " "), there)
                                : fmt::format("log: {} channels over NET/IB, all on NIC {}",
                                              node.log.via_ib, fmt::join(node.log.nics_used, ",")),
             .effect = fmt::format("{} of the network bandwidth at most",
                                   fmt::format("{}/{}", have, could)),
             .fix = "set NCCL_IB_HCA to all compute NICs, or unset it; check NCCL_CROSS_NIC",
             .impact = 1 - static_cast<double>(have) / static_cast<double>(could)});
    }
    return outcome;
}

namespace {

struct Selected {
    std::vector<std::string> taken, slow, caught;  // caught: by a prefix only
    std::size_t compute = 0, compute_taken = 0;
};

Selected select(NodeEvidence const& node, NameFilter const& filter) {
    Selected selected;
    auto const compute = compute_nics(node);
    selected.compute = compute.size();
    for (auto const* each : rdma_up(node)) {
        if (!filter.matches(each->device)) continue;
        selected.taken.push_back(each->device);
        if (std::ranges::find(compute, each) != compute.end()) {
            ++selected.compute_taken;
        } else if (each->rate_gbit > 0) {
            selected.slow.push_back(
                fmt::format("{} ({})", each->device, format_gbit_per_s(each->rate_gbit)));
        }
        bool const named = std::ranges::find(filter.names, each->device) != filter.names.end();
        if (!filter.exclude && !filter.exact && !named) selected.caught.push_back(each->device);
    }
    return selected;
}

std::string exact_list(NodeEvidence const& node) {
    std::vector<std::string> names;
    for (auto const* each : compute_nics(node)) names.push_back(each->device);
    return fmt::format("--set nccl.NCCL_IB_HCA=\"={}\"", fmt::join(names, ","));
}

/// A name that matches itself and longer ones: mlx5_1 and mlx5_10.
bool is_trap(NodeEvidence const& node, NameFilter const& filter) {
    return std::ranges::any_of(filter.names, [&](std::string const& name) {
        return nic_named(node, name) != nullptr &&
               std::ranges::any_of(rdma_up(node), [&](Nic const* each) {
                   return each->device != name && each->device.starts_with(name);
               });
    });
}

}  // namespace

Outcome check_hca_setting(Evidence const& evidence) {
    bool const any = std::ranges::any_of(evidence.nodes,
                                         [](auto const& node) { return !rdma_up(node).empty(); });
    if (!any) return skip("no RDMA NIC");
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        auto const* set = setting(node, "NCCL_IB_HCA");
        if (set == nullptr || rdma_up(node).empty()) continue;
        auto const filter = parse_filter(set->value);
        auto const selected = select(node, filter);
        Finding finding{.severity = Severity::fault,
                        .nodes = {node.name},
                        .seen = fmt::format("NCCL_IB_HCA={} from {}", set->value, set->origin),
                        .fix = exact_list(node),
                        .impact = 0.9};
        if (selected.taken.empty()) {
            finding.title = "NCCL_IB_HCA names no port that is up";
            finding.effect = "NCCL falls back to TCP";
        } else if (!selected.slow.empty() && selected.compute_taken > 0) {
            finding.title = fmt::format("NCCL_IB_HCA takes {} with the faster ones",
                                        fmt::join(selected.slow, ", "));
            finding.effect = "a ring runs at its slowest NIC";
            finding.impact = 0.5;
        } else if (is_trap(node, filter) && !filter.exact && !selected.caught.empty()) {
            finding.severity = Severity::warning;
            finding.title = fmt::format("NCCL_IB_HCA without '=' also takes {}",
                                        fmt::join(selected.caught, ", "));
            finding.effect = "a name matches all that begin with it";
            finding.impact = 0.2;
        } else if (selected.compute_taken < selected.compute) {
            finding.severity = Severity::warning;
            finding.title =
                fmt::format("NCCL_IB_HCA leaves {} of {} NICs unused",
                            selected.compute - selected.compute_taken, selected.compute);
            finding.effect = "bandwidth of the others is lost, unless they are for storage";
            finding.impact = 1 - static_cast<double>(selected.compute_taken) /
                                     static_cast<double>(selected.compute);
        } else {
            continue;
        }
        outcome.findings.push_back(std::move(finding));
    }
    return outcome;
}

}  // namespace osora::topology::doctor
