// Helpers shared by the rules.
#include "topology/doctor/rules_internal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace osora::topology::doctor {

InheritedSetting const* setting(NodeEvidence const& node, std::string_view name) {
    for (auto const& each : node.settings) {
        if (each.name == name && each.effective && !each.value.empty()) return &each;
    }
    return nullptr;
}

std::optional<long> number_of(NodeEvidence const& node, std::string_view name) {
    auto const* found = setting(node, name);
    if (found == nullptr) return {};
    long value = 0;
    char const* const last = found->value.data() + found->value.size();
    auto const [end, error] = std::from_chars(found->value.data(), last, value);
    if (error != std::errc() || end != last) return {};
    return value;
}

std::string version_of(NodeEvidence const& node, std::string const& name) {
    // The running version is more reliable than the installed one.
    if (name == "nccl" && node.log.versions.size() == 1) return *node.log.versions.begin();
    if (name == "rccl" && node.log.rccl.size() == 1) return *node.log.rccl.begin();
    auto const found = node.versions.find(name);
    if (found != node.versions.end()) return found->second;
    if (name == "cuda") return node.log.cuda;
    return {};
}

bool has_gpus(NodeEvidence const& node) {
    return node.machine && !node.machine->gpus.empty();
}

bool is_rdma(Nic const& nic) {
    return !nic.device.empty() && (nic.kind == NicKind::infiniband || nic.kind == NicKind::roce ||
                                   nic.kind == NicKind::efa);
}

std::vector<Nic const*> rdma_up(NodeEvidence const& node) {
    std::vector<Nic const*> nics;
    if (!node.machine) return nics;
    for (auto const& each : node.machine->nics) {
        if (is_rdma(each) && each.up) nics.push_back(&each);
    }
    return nics;
}

std::vector<Nic const*> compute_nics(NodeEvidence const& node) {
    auto nics = rdma_up(node);
    auto const is_ib = [](Nic const* each) { return each->kind == NicKind::infiniband; };
    if (std::ranges::any_of(nics, is_ib)) {
        std::erase_if(nics, [&](Nic const* each) { return !is_ib(each); });
    }
    double fastest = 0;
    for (auto const* each : nics) fastest = std::max(fastest, each->rate_gbit);
    std::erase_if(nics, [&](Nic const* each) { return each->rate_gbit < 0.9 * fastest; });
    return nics;
}

bool can_do_gdr(NodeEvidence const& node) {
    if (!has_gpus(node)) return false;
    return std::ranges::none_of(node.machine->gpus, [](MachineGpu const& gpu) {
        return gpu.name.find("GeForce") != std::string::npos ||
               gpu.name.find("GB10") != std::string::npos;
    });
}

bool any_machine(Evidence const& evidence) {
    return std::ranges::any_of(evidence.nodes, [](auto const& node) { return !!node.machine; });
}

bool any_log(Evidence const& evidence) {
    return std::ranges::any_of(evidence.nodes, [](auto const& node) { return node.log.lines > 0; });
}

bool many_nodes(Evidence const& evidence) {
    return evidence.nodes.size() > 1 || (evidence.run && evidence.run->nodes > 1) ||
           (evidence.probe && evidence.probe->nodes.size() > 1);
}

NodeScore const* score_of(Evidence const& evidence, std::string const& node) {
    if (!evidence.probe) return nullptr;
    auto const& probe = *evidence.probe;
    auto const found = std::ranges::find(probe.nodes, node);
    auto const index = static_cast<std::size_t>(found - probe.nodes.begin());
    return index < probe.scores.size() ? &probe.scores[index] : nullptr;
}

std::string bandwidth_note(Evidence const& evidence, std::string const& node) {
    auto const* score = score_of(evidence, node);
    if (score == nullptr || !(score->of_median > 0 && score->of_median < 0.95)) return {};
    return fmt::format("; pair bandwidth {:.2f} of the median", score->of_median);
}

double pcie_gbit(double gt_s, int width) {
    double const encoding = gt_s <= 5 ? 0.8 : 128.0 / 130;
    return gt_s * width * encoding;
}

std::string pcie_text(double gt_s, int width) {
    if (!(gt_s > 0)) return fmt::format("x{}", width);
    int const generation = static_cast<int>(std::lround(std::log2(gt_s / 2.5))) + 1;
    return width > 0 ? fmt::format("gen{} x{}", generation, width)
                     : fmt::format("gen{}", generation);
}

bool NameFilter::matches(std::string_view name) const {
    bool const found = std::ranges::any_of(names, [&](std::string const& each) {
        return exact ? name == each : name.starts_with(each);
    });
    return found != exclude;
}

NameFilter parse_filter(std::string_view text) {
    NameFilter filter;
    while (!text.empty() && (text.front() == '^' || text.front() == '=')) {
        (text.front() == '^' ? filter.exclude : filter.exact) = true;
        text.remove_prefix(1);
    }
    while (!text.empty()) {
        std::size_t const end = std::min(text.find(','), text.size());
        std::string_view const name = text.substr(0, end);
        if (!name.empty()) filter.names.emplace_back(name.substr(0, name.find(':')));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return filter;
}

bool any_trouble(Evidence const& evidence, LogTrouble trouble) {
    return std::ranges::any_of(evidence.nodes, [trouble](auto const& node) {
        return node.log.troubles.contains(trouble);
    });
}

void find_trouble(Outcome& outcome, Evidence const& evidence, LogTrouble trouble,
                  Finding const& finding) {
    for (auto const& node : evidence.nodes) {
        auto const found = node.log.troubles.find(trouble);
        if (found == node.log.troubles.end()) continue;
        Finding each = finding;
        each.nodes = {node.name};
        each.seen = "log: " + found->second;
        outcome.findings.push_back(std::move(each));
    }
}

}  // namespace osora::topology::doctor
