// Rules about measurements: rows 8, 15, 20, 27, 30, pair bandwidth and storage.
#include "topology/doctor/rules_internal.hpp"

#include "base/robust.hpp"
#include "base/text/units.hpp"
#include "topology/collectives/collective.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace osora::topology::doctor {
namespace {

/// Gbit/s; 0 for an invalid sample.
double gbit(PairSample const& sample) {
    bool const sane = sample.seconds > 0 && std::isfinite(sample.seconds) && sample.size_bytes > 0;
    return sane ? static_cast<double>(sample.size_bytes) * 8e-9 / sample.seconds : 0;
}

std::string node_name(ProbeResult const& probe, int index) {
    auto const at = static_cast<std::size_t>(index);
    return index >= 0 && at < probe.nodes.size() ? probe.nodes[at] : "?";
}

/// Rates of the largest size of a stage.
std::vector<double> rates_of(ProbeResult const& probe, ProbeStage stage,
                             std::string_view transport) {
    std::int64_t largest = 0;
    auto const counts = [&](PairSample const& each) {
        return each.stage == stage && (transport.empty() || each.transport == transport);
    };
    for (auto const& each : probe.pairs) {
        if (counts(each)) largest = std::max(largest, each.size_bytes);
    }
    std::vector<double> rates;
    for (auto const& each : probe.pairs) {
        double const rate = counts(each) && each.size_bytes == largest ? gbit(each) : 0;
        if (rate > 0) rates.push_back(rate);
    }
    return rates;
}

/// Per rank, between two nodes: from pairs, else from all_reduce over the ranks of two nodes, whose
/// busbw is the combined rate of a node's cards.
std::vector<double> nccl_rates(ProbeResult const& probe) {
    auto rates = rates_of(probe, ProbeStage::matching, "nccl");
    std::int64_t largest = 0;
    for (auto const& each : probe.collectives) {
        bool const fits = each.backend == "nccl" && each.collective == "all_reduce" &&
                          each.nodes == 2 && each.ranks > 1 && each.time_us > 0;
        if (!rates.empty() && largest == 0) break;
        if (!fits || each.size_bytes < largest) continue;
        if (each.size_bytes > largest) rates.clear();
        largest = each.size_bytes;
        double const algbw = static_cast<double>(each.size_bytes) * 8e-3 / each.time_us;
        rates.push_back(algbw * bus_factor(Collective::all_reduce, each.ranks) * 2 / each.ranks);
    }
    return rates;
}

/// Share of the speed that is lost at `ratio` of it; an invalid ratio loses all.
double lost(double ratio) {
    return std::isfinite(ratio) ? std::clamp(1 - ratio, 0.0, 1.0) : 1.0;
}

std::string title_of(ProbeFinding const& finding) {
    if (finding.kind == "slow_node") return "The node's links are slow";
    if (finding.kind == "slow_link") return fmt::format("The link {} is slow", finding.where);
    if (finding.kind == "node_lost") return "The node vanished during the probe";
    return finding.kind;
}

}  // namespace

Outcome check_pairs(Evidence const& evidence) {
    if (!evidence.probe) return skip("no probe");
    auto const& probe = *evidence.probe;
    Outcome outcome;
    std::set<std::string> named;
    for (auto const& each : probe.findings) {
        bool const mine =
            each.kind == "slow_node" || each.kind == "slow_link" || each.kind == "node_lost";
        if (!mine) continue;
        named.insert(each.nodes.begin(), each.nodes.end());
        bool const link = each.kind == "slow_link";
        outcome.findings.push_back(
            {.severity = Severity::fault,
             .nodes = each.nodes,
             .title = title_of(each),
             .seen = each.evidence,
             .effect = each.ratio > 0
                           ? fmt::format("rings through it run at {:.2f} of the speed", each.ratio)
                           : "a run on it fails",
             .fix = link ? "check the path between them, or exclude one of them"
                         : fmt::format("exclude it {}", kExclude),
             .impact = lost(each.ratio)});
    }
    for (std::size_t i = 0; i < std::min(probe.scores.size(), probe.nodes.size()); ++i) {
        auto const& score = probe.scores[i];
        if (!score.bad || named.contains(probe.nodes[i])) continue;
        outcome.findings.push_back(
            {.severity = Severity::fault,
             .nodes = {probe.nodes[i]},
             .title = "The node's links are slow",
             .seen = fmt::format("pair bandwidth {:.2f} of the median ({} against {}, {} samples)",
                                 score.of_median, format_gbit_per_s(score.gbit_s),
                                 format_gbit_per_s(probe.median_gbit_s), score.samples),
             .effect = fmt::format("rings through it run at {:.2f} of the speed", score.of_median),
             .fix = fmt::format("exclude it {}", kExclude),
             .impact = lost(score.of_median)});
    }
    return outcome;
}

Outcome check_oversubscribed(Evidence const& evidence) {
    if (!evidence.probe) return skip("no probe");
    auto const& probe = *evidence.probe;
    Outcome outcome;
    auto const add = [&](std::string const& where, double ratio, std::string const& seen) {
        outcome.findings.push_back(
            {.severity = Severity::warning,
             .title = fmt::format("The uplinks of {} do not carry all nodes at once", where),
             .seen = seen,
             .effect = fmt::format("collectives over leaves run at {:.2f} of the speed", ratio),
             .fix = "place the job under fewer leaves (--switches=1 or --segment), check uplinks "
                    "and ECMP hashing",
             .impact = lost(ratio)});
    };
    for (auto const& each : probe.findings) {
        if (each.kind == "oversubscribed") add(each.where, each.ratio, each.evidence);
    }
    double const one = median(rates_of(probe, ProbeStage::leaf_one, ""));
    double const all = median(rates_of(probe, ProbeStage::leaf_all, ""));
    if (!(one > 0 && all > 0)) {
        return outcome.findings.empty() ? skip("no probe between leaves") : outcome;
    }
    if (outcome.findings.empty() && all < 0.9 * one) {
        add("the leaves", all / one,
            fmt::format("one pair {}, all pairs at once {} each", format_gbit_per_s(one),
                        format_gbit_per_s(all)));
    }
    return outcome;
}

Outcome check_two_modes(Evidence const& evidence) {
    if (!evidence.probe) return skip("no probe");
    auto const& probe = *evidence.probe;
    auto rates = rates_of(probe, ProbeStage::matching, "");
    if (rates.size() < 12) return skip("too few pairs measured");
    std::ranges::sort(rates);
    // The largest gap, as a ratio, that leaves a seventh of the samples on either side.
    std::size_t const least = std::max<std::size_t>(rates.size() / 7, 2);
    std::size_t cut = least;
    for (std::size_t i = least; i + least <= rates.size(); ++i) {
        if (rates[i] / rates[i - 1] > rates[cut] / rates[cut - 1]) cut = i;
    }
    Outcome outcome;
    auto const middle = static_cast<std::ptrdiff_t>(cut);
    double const low = median({rates.begin(), rates.begin() + middle});
    double const high = median({rates.begin() + middle, rates.end()});
    bool const gap = rates[cut] / rates[cut - 1] > 1.25 && low < 0.75 * high;
    bool const explained =
        std::ranges::any_of(probe.scores, &NodeScore::bad) || !probe.findings.empty();
    if (!gap || explained) return outcome;
    bool const roce = std::ranges::any_of(evidence.nodes, [](auto const& node) {
        auto const nics = rdma_up(node);
        return std::ranges::any_of(nics, [](Nic const* nic) { return nic->kind == NicKind::roce; });
    });
    outcome.findings.push_back(
        {.severity = Severity::warning,
         .title = "Pairs are either fast or slow, and no node is to blame",
         .seen = fmt::format("{} samples near {}, {} near {}", cut, format_gbit_per_s(low),
                             rates.size() - cut, format_gbit_per_s(high)),
         .effect =
             fmt::format("flows collide on one path: rings run at {:.2f} of the speed", low / high),
         .fix = roce ? "more queue pairs: --set nccl.NCCL_IB_QPS_PER_CONNECTION=4 (A/B it), or "
                       "adaptive routing"
                     : "check ECMP hashing and bonded ports; more flows "
                       "(--set nccl.NCCL_NSOCKS_PERTHREAD=4)",
         .impact = 1 - low / high});
    return outcome;
}

Outcome check_nccl_against_wire(Evidence const& evidence) {
    if (!evidence.probe) return skip("no probe");
    auto const nccl = nccl_rates(*evidence.probe);
    if (nccl.empty()) return skip("no pairs of nodes measured with NCCL");
    double wire = median(rates_of(*evidence.probe, ProbeStage::matching, "tcp"));
    std::string what = "TCP between the same nodes";
    for (auto const& node : evidence.nodes) {
        double sum = 0;
        for (auto const* each : compute_nics(node)) sum += each->rate_gbit;
        auto const nics = static_cast<double>(std::max<std::size_t>(compute_nics(node).size(), 1));
        if (!(sum / nics <= wire) && sum > 0) {
            wire = sum / nics;
            what = "one NIC";
        }
    }
    Outcome outcome;
    double const rate = median(nccl);
    bool const bad = std::ranges::any_of(evidence.probe->scores, &NodeScore::bad);
    if (!(rate < 0.5 * wire) || bad) return outcome;
    outcome.findings.push_back(
        {.severity = Severity::warning,
         .title = "The NIC is fine, NCCL between pairs is slow",
         .seen =
             fmt::format("NCCL {}, {} {}", format_gbit_per_s(rate), what, format_gbit_per_s(wire)),
         .effect = "a cost for each chunk: 13 GB/s instead of 87 were seen on 800 Gbit/s",
         .fix = "try --set nccl.NCCL_P2P_NET_CHUNKSIZE=1048576 (osora tune --nccl); look for "
                "missing GDRDMA",
         .impact = 1 - rate / wire});
    return outcome;
}

Outcome check_storage(Evidence const& evidence) {
    if (!evidence.probe || evidence.probe->storage.empty()) return skip("no storage measured");
    auto const& probe = *evidence.probe;
    Outcome outcome;
    std::vector<double> alone, together;
    for (auto const& each : probe.storage) {
        if (!(each.read_bytes_per_s > 0)) continue;
        (each.alone ? alone : together).push_back(each.read_bytes_per_s);
    }
    auto const rate = [](double bytes_per_s) {
        return fmt::format("{:.4g} MB/s", bytes_per_s / 1e6);
    };
    double const usual = median(alone), shared = median(together);
    for (auto const& each : probe.storage) {
        bool const slow = each.alone && alone.size() > 2 && each.read_bytes_per_s < 0.5 * usual;
        if (slow) {
            outcome.findings.push_back(
                {.severity = Severity::warning,
                 .nodes = {node_name(probe, each.node)},
                 .title = "Reads the data path slower than the others",
                 .seen = fmt::format("{}: {}, median {}", each.path, rate(each.read_bytes_per_s),
                                     rate(usual)),
                 .effect = "its loader stalls, and every rank waits",
                 .fix = fmt::format("check its mount and network, or exclude it {}", kExclude),
                 .impact = 1 - each.read_bytes_per_s / usual});
        }
        if (each.open_us <= 20'000) continue;
        outcome.findings.push_back(
            {.severity = Severity::warning,
             .nodes = {node_name(probe, each.node)},
             .title = "Opening a file takes long",
             .seen = fmt::format("{}: {:.0f} ms for open and first read (median of {})", each.path,
                                 each.open_us / 1000, each.files),
             .effect = "loaders that open a clip each sample wait for the metadata server",
             .fix = "stage the clips on a local disk, or pack them into fewer files",
             .impact = 0.2});
    }
    if (usual > 0 && shared > 0 && shared < 0.5 * usual) {
        outcome.findings.push_back(
            {.severity = Severity::warning,
             .title = "The storage does not serve all nodes at once",
             .seen = fmt::format("a node alone {}, all at once {} each", rate(usual), rate(shared)),
             .effect = "loading slows down as nodes are added",
             .fix = "cache latents or stage on local disks; more servers or stripes for the data",
             .impact = 0.3});
    }
    return outcome;
}

}  // namespace osora::topology::doctor
