// The rule about PCIe links that run below their capability: row 11. NCCL reads the maximum of a
// NIC's link, not its current state, so only this rule sees it.
#include "topology/doctor/rules_internal.hpp"

#include "base/text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace osora::topology::doctor {
namespace {

struct Link {
    std::string name;   // "mlx5_3", "GPU 2"
    std::string model;  // devices of one model are compared
    std::string address;
    PcieLink link;
    bool is_gpu = false;
    double needs_gbit = 0;  // a NIC's rate; 0 = as much as possible
};

/// The capability of both ends of the link: a card of gen5 in a slot of gen4 is not degraded.
PcieLink attainable(Machine const& machine, Link const& link) {
    PcieLink best = link.link;
    auto const self = std::ranges::find(machine.pci, link.address, &PciDevice::address);
    if (self == machine.pci.end() || self->parent.empty()) return best;
    auto const above = std::ranges::find(machine.pci, self->parent, &PciDevice::address);
    if (above == machine.pci.end()) return best;
    if (above->link.max_gt_s > 0) best.max_gt_s = std::min(best.max_gt_s, above->link.max_gt_s);
    if (above->link.max_width > 0) best.max_width = std::min(best.max_width, above->link.max_width);
    return best;
}

bool is_degraded(PcieLink const& link) {
    bool const slower = link.current_gt_s > 0 && link.current_gt_s < link.max_gt_s;
    bool const narrower = link.current_width > 0 && link.current_width < link.max_width;
    return slower || narrower;
}

std::vector<Link> links_of(NodeEvidence const& node) {
    std::vector<Link> links;
    if (!node.machine) return links;
    for (std::size_t i = 0; i < node.machine->gpus.size(); ++i) {
        auto const& gpu = node.machine->gpus[i];
        links.push_back({fmt::format("GPU {}", i), gpu.name, gpu.address, gpu.link, true});
    }
    std::string last;
    for (auto const& nic : node.machine->nics) {
        if (!nic.address.empty() && nic.address == last) continue;  // two names of one card
        last = nic.address;
        bool const idle = !nic.up && nic.device.empty();
        bool const known = nic.link.current_gt_s > 0 || nic.link.current_width > 0;
        if (idle || !known) continue;
        links.push_back({nic.device.empty() ? nic.interface : nic.device, nic.driver, nic.address,
                         nic.link, false, nic.rate_gbit});
    }
    return links;
}

/// Idle GPUs lower their speed: gen1 means little.
bool may_be_idle(Link const& link, PcieLink const& could) {
    return link.is_gpu && link.link.current_gt_s <= 2.5 &&
           link.link.current_width >= could.max_width;
}

/// If a tree does not show what a GPU is connected to, a slot slower than the card is likely.
bool may_be_slot(Machine const& machine, Link const& link, PcieLink const& could, bool all_alike) {
    auto const self = std::ranges::find(machine.pci, link.address, &PciDevice::address);
    bool const known = self != machine.pci.end() && !self->parent.empty();
    return link.is_gpu && !known && all_alike && link.link.current_width >= could.max_width;
}

std::string seen_text(PcieLink const& is, PcieLink const& could) {
    std::string text;
    if (is.current_gt_s > 0 && is.current_gt_s < could.max_gt_s) {
        text = fmt::format("current_link_speed {:.1f} GT/s", is.current_gt_s);
    }
    if (is.current_width > 0 && is.current_width < could.max_width) {
        text += fmt::format("{}current_link_width {}", text.empty() ? "" : ", ", is.current_width);
    }
    return text;
}

double carried(PcieLink const& link) {
    return pcie_gbit(link.current_gt_s, link.current_width);
}

/// The number of devices of a model, and how many of them run exactly like this.
struct Share {
    int all = 0, alike = 0;
};
using LinkKey = std::tuple<std::string, double, int>;

void check_link(NodeEvidence const& node, Evidence const& evidence, Link const& link,
                std::pair<PcieLink, Share> const& known, Outcome& outcome) {
    auto const& [could, share] = known;
    double const is = carried(link.link), best = pcie_gbit(could.max_gt_s, could.max_width);
    bool const enough = link.needs_gbit > 0 && is >= link.needs_gbit;
    // If all are the same it is the machine's design; otherwise it would be a rare accident.
    bool const by_design = share.all >= 4 && share.alike == share.all;
    Severity severity = Severity::fault;
    bool const slot = may_be_slot(*node.machine, link, could, share.alike == share.all);
    if (enough || slot || may_be_idle(link, could)) severity = Severity::info;
    if (by_design && severity == Severity::fault) severity = Severity::warning;
    double const lost = best > 0 && is > 0 ? 1 - is / best : 0.5;
    std::string const effect =
        enough ? fmt::format("none now: {:.0f} Gbit/s still carry its {}", is,
                             format_gbit_per_s(link.needs_gbit))
        : slot ? "none if the slot can do no more: the tree does not say"
        : may_be_idle(link, could)
            ? "none if the GPU is idle: look again while it works"
            : fmt::format("the whole job runs at {}'s speed (NCCL takes the minimum)", node.name);
    bool const others = evidence.nodes.size() > 1;
    outcome.findings.push_back(
        {.severity = severity,
         .nodes = {node.name},
         .title = fmt::format("{} trained down to PCIe {} (max {})", link.name,
                              pcie_text(link.link.current_gt_s, link.link.current_width),
                              pcie_text(could.max_gt_s, could.max_width)),
         .seen = seen_text(link.link, could) + bandwidth_note(evidence, node.name),
         .effect = effect,
         .fix = severity == Severity::info ? ""
                : by_design                ? "check the slots and the BIOS's PCIe settings"
                                           : fmt::format("{}reseat or reset the {}",
                                          others ? fmt::format("exclude it {}, ", kExclude) : "",
                                          link.is_gpu ? "GPU" : "NIC"),
         .impact = severity == Severity::info ? 0 : lost});
}

}  // namespace

Outcome check_downgrade(Evidence const& evidence) {
    std::map<LinkKey, int> alike;
    std::map<std::string, int> of_model;
    bool any = false;
    for (auto const& node : evidence.nodes) {
        for (auto const& each : links_of(node)) {
            any = any || each.link.current_gt_s > 0 || each.link.current_width > 0;
            ++alike[{each.model, each.link.current_gt_s, each.link.current_width}];
            ++of_model[each.model];
        }
    }
    if (!any) return skip("no PCIe link known");
    Outcome outcome;
    for (auto const& node : evidence.nodes) {
        for (auto const& each : links_of(node)) {
            auto const could = attainable(*node.machine, each);
            if (!is_degraded(could)) continue;
            Share const share{of_model[each.model],
                              alike[{each.model, each.link.current_gt_s, each.link.current_width}]};
            check_link(node, evidence, each, {could, share}, outcome);
        }
    }
    return outcome;
}

}  // namespace osora::topology::doctor
