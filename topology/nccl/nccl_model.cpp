#include "topology/nccl/nccl_model.hpp"

#include "base/text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace osora::topology {
namespace {

using Corrections = std::array<double, 24>;
/// Share of Tree's bandwidth for 64 B and each doubling, by protocol.
constexpr std::array<Corrections, kNcclProtos> kTreeCorrection{
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
      .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};
constexpr std::array kCollectives{Collective::all_reduce, Collective::all_gather,
                                  Collective::reduce_scatter, Collective::broadcast,
                                  Collective::reduce};
constexpr int kX86 = 1, kAmd = 2, kMixed = 4;

int floor_log2(int value) {
    return std::bit_width(static_cast<unsigned>(value)) - 1;
}

/// One algorithm, protocol and collective of a group, with the variables of the equations.
struct Case {
    NcclGroup const& group;
    NcclConstants const& constants;
    NcclGraph const& graph;
    NcclCost cost;

    [[nodiscard]] int ranks() const { return group.shape.ranks; }
    [[nodiscard]] int nodes() const { return group.shape.nodes; }
    [[nodiscard]] double per_node() const { return static_cast<double>(ranks()) / nodes(); }
    [[nodiscard]] bool is(NcclAlgo algo) const { return cost.algo == algo; }
    [[nodiscard]] bool is(NcclProto proto) const { return cost.proto == proto; }
    [[nodiscard]] bool is(Collective collective) const { return cost.collective == collective; }
    [[nodiscard]] bool is_nvls() const { return is(NcclAlgo::nvls) || is(NcclAlgo::nvls_tree); }
    [[nodiscard]] bool is_collnet() const {
        return is(NcclAlgo::collnet_direct) || is(NcclAlgo::collnet_chain);
    }
    [[nodiscard]] bool is_gather_or_scatter() const {
        return is(Collective::all_gather) || is(Collective::reduce_scatter);
    }
    [[nodiscard]] std::size_t generation() const {
        int const capability = group.min_compute_capability;
        return capability >= 100 ? 3 : capability >= 90 ? 2 : capability >= 80 ? 1 : 0;
    }
    [[nodiscard]] std::size_t column() const {
        return static_cast<std::size_t>(std::min(nodes() - 1, 2));
    }
    [[nodiscard]] double per_channel(BandwidthTable const& table) const {
        return graph.channels * table[generation()][column()];
    }
    [[nodiscard]] double ll_max() const {
        bool const amd = group.cpu_vendor == kAmd || group.cpu_vendor == kMixed;
        std::size_t const row = nodes() == 1 ? generation() : amd ? 1 : 0;
        return constants.ll_max_gbps[row][column()];
    }
    [[nodiscard]] double hardware_us(NcclHardware hardware, NcclAlgo algo) const {
        return constants.hardware_latency_us[static_cast<std::size_t>(
            hardware)][static_cast<std::size_t>(algo)][static_cast<std::size_t>(cost.proto)];
    }
};

bool serves(NcclAlgo algo, Collective collective) {
    switch (collective) {
        case Collective::all_reduce:
            return algo != NcclAlgo::pat;
        case Collective::all_gather:
        case Collective::reduce_scatter:
            return algo == NcclAlgo::ring || algo == NcclAlgo::pat || algo == NcclAlgo::nvls ||
                   algo == NcclAlgo::collnet_direct;
        default:
            return algo == NcclAlgo::ring;
    }
}

/// What NCCL enables without NCCL_ALGO, NCCL_PROTO and similar settings.
bool is_enabled(Case const& c) {
    bool const has_collnet = c.group.collnet_direct || c.group.collnet_chain;
    switch (c.cost.algo) {
        case NcclAlgo::nvls:
            if (c.graph.channels < 2 || (c.nodes() > 1 && !has_collnet)) return false;
            break;
        case NcclAlgo::nvls_tree:
            if (c.graph.channels < 2 || c.nodes() == 1) return false;
            break;
        case NcclAlgo::pat:
            if (c.ranks() != c.nodes() || c.group.min_compute_capability < 60) return false;
            break;
        default:
            break;
    }
    bool const simple_only = !c.is(NcclAlgo::ring) && !c.is(NcclAlgo::tree);
    if (simple_only && !c.is(NcclProto::simple)) return false;
    if (!c.is(NcclProto::ll128)) return true;
    int const capability = c.group.min_compute_capability;
    NcclPath const farthest = capability >= 90 ? NcclPath::pxn : NcclPath::pxb;
    return capability >= 70 && c.graph.inter <= farthest && c.graph.intra <= NcclPath::nvb;
}

double nvls_channel_gbps(Case const& c) {
    double const efficiency = c.generation() == 3 ? 0.74 : 0.85;
    double intra = c.graph.intra_gbps * efficiency * (c.graph.channels - 1) / c.graph.channels;
    intra *= c.is(Collective::all_reduce) ? 2 : (c.per_node() - 1) / c.per_node();
    bool const tree = c.is(NcclAlgo::nvls_tree);
    double const inter = c.graph.inter_gbps * (c.nodes() <= 2 && tree ? 2 : 1);
    double const least = std::min(intra, inter);
    return tree ? std::min(least, c.constants.nvls_tree_max_gbps[c.generation()][c.column()])
                : least;
}

double collnet_direct_gbps(Case const& c, double bandwidth) {
    if (c.is_gather_or_scatter()) {
        return c.per_node() * std::min(c.graph.intra_gbps, c.graph.inter_gbps * 0.9);
    }
    double factor = c.per_node() / c.graph.channels;
    factor -= (factor - 1) / 2;
    return bandwidth / factor * (c.group.min_compute_capability >= 90 ? 0.85 : 1);
}

/// On the wire, before scaling to the collective's own size.
double wire_gbps(Case const& c) {
    bool const intra = c.nodes() <= 2 || c.is_collnet();
    double const channel = c.is_nvls() ? nvls_channel_gbps(c)
                           : intra     ? c.graph.intra_gbps
                                       : c.graph.inter_gbps;
    double b = c.graph.channels * channel;
    if (c.is(NcclAlgo::ring)) {
        if (c.is(NcclProto::ll)) return std::min(c.ll_max(), b / 2);
        if (c.is(NcclProto::ll128)) {
            return std::min(0.92 * b, c.per_channel(c.constants.ring_ll128_max_gbps));
        }
        return b;
    }
    if (c.is(NcclAlgo::tree)) {
        b = std::min(0.92 * b, c.per_channel(c.constants.tree_max_gbps));
        if (c.is(NcclProto::ll)) b = std::min(b / 3.8, c.ll_max());
        if (c.is(NcclProto::ll128)) {
            b = std::min(b * (c.nodes() == 1 ? 7.0 / 9 : 120.0 / 128),
                         c.per_channel(c.constants.tree_ll128_max_gbps));
        }
        return c.graph.pattern == kPlainTreePattern ? b * 0.85 : b;
    }
    if (c.is(NcclAlgo::pat)) return b * 0.75;
    return c.is(NcclAlgo::collnet_direct) ? collnet_direct_gbps(c, b) : b;
}

double algorithm_gbps(Case const& c) {
    double const wire = wire_gbps(c);
    if (!c.is(NcclAlgo::ring) && c.is_gather_or_scatter()) return wire;
    if (!c.is(NcclAlgo::ring) && !c.is_nvls()) return wire * 0.5;
    return wire * c.ranks() / ring_steps(c.cost.collective, c.ranks());
}

double network_overhead_us(Case const& c) {
    bool const amd = c.group.cpu_arch == kX86 && c.group.cpu_vendor == kAmd;
    return (amd ? 2.0 : 1.0) * (c.is(NcclProto::simple) ? 3 : 1);
}

struct Latencies {
    NcclHardware inside;
    double base, intra, inter;
};

double ring_latency_us(Case const& c, Latencies const& l) {
    int const steps = ring_steps(c.cost.collective, c.ranks());
    if (c.is(Collective::broadcast) || c.is(Collective::reduce)) {
        NcclHardware const hardware = c.nodes() == 1 ? l.inside : NcclHardware::net;
        if (c.graph.same_channels) return l.base + c.hardware_us(hardware, NcclAlgo::ring);
        bool const simple = c.is(NcclProto::simple);
        return l.base + steps * c.hardware_us(hardware, simple ? NcclAlgo::tree : NcclAlgo::ring);
    }
    if (c.nodes() == 1) return l.base + steps * l.intra;
    int const between = (c.is(Collective::all_reduce) ? 2 : 1) * (c.nodes() - 1);
    double const intra = std::max(l.intra, network_overhead_us(c));
    return l.base + (steps - between) * intra + between * l.inter;
}

double latency_us(Case const& c) {
    auto const algo = static_cast<std::size_t>(c.cost.algo);
    NcclHardware const inside =
        c.graph.intra == NcclPath::nvl ? NcclHardware::nvlink : NcclHardware::pci;
    NcclAlgo const between = c.ranks() == c.nodes() ? NcclAlgo::tree : c.cost.algo;
    Latencies const l{inside,
                      c.constants.base_latency_us[algo][static_cast<std::size_t>(c.cost.proto)],
                      c.hardware_us(inside, c.cost.algo),
                      // Simple flushes, which adds a NIC's latency.
                      c.hardware_us(NcclHardware::net, between) +
                          c.graph.inter_latency_us * (c.is(NcclProto::simple) ? 2 : 1)};
    int const others = c.ranks() / c.nodes() - 1;
    int const depth = floor_log2(c.nodes());
    switch (c.cost.algo) {
        case NcclAlgo::tree:
            return l.base + 2 * (others * l.intra + depth * l.inter);
        case NcclAlgo::ring:
            return ring_latency_us(c, l);
        case NcclAlgo::collnet_direct:
            return l.base + 2 * (std::min(1, others) * l.intra + others * 0.4) + l.inter;
        case NcclAlgo::collnet_chain:
            return l.base + 2 * others * l.intra + l.inter;
        case NcclAlgo::nvls:
            return l.intra + (c.nodes() > 1 ? l.inter : 0);
        case NcclAlgo::nvls_tree:
            return l.intra + 2 * depth * l.inter;
        case NcclAlgo::pat:
            break;
    }
    return l.base + depth * l.inter / 3.5 + c.ranks() * 2.8;
}

std::optional<NcclGraph> const& graph_of(NcclGroup const& group, NcclAlgo algo) {
    switch (algo) {
        case NcclAlgo::ring:
            return group.ring;
        case NcclAlgo::collnet_direct:
            return group.collnet_direct;
        case NcclAlgo::collnet_chain:
            return group.collnet_chain;
        case NcclAlgo::nvls:
        case NcclAlgo::nvls_tree:
            return group.nvls;
        default:
            return group.tree;
    }
}

}  // namespace

std::vector<NcclCost> nccl_costs(NcclGroup const& group, NcclConstants const& constants) {
    std::vector<NcclCost> costs;
    if (group.shape.ranks < 2) return costs;
    for (Collective const collective : kCollectives) {
        for (std::size_t algo = 0; algo < kNcclAlgos; ++algo) {
            auto const& graph = graph_of(group, static_cast<NcclAlgo>(algo));
            if (!graph || graph->channels < 1) continue;
            if (!serves(static_cast<NcclAlgo>(algo), collective)) continue;
            for (std::size_t proto = 0; proto < kNcclProtos; ++proto) {
                Case c{group, constants, *graph, {}};
                c.cost = {collective, static_cast<NcclAlgo>(algo), static_cast<NcclProto>(proto)};
                if (!is_enabled(c)) continue;
                c.cost.algbw_gbps = algorithm_gbps(c);
                c.cost.latency_us = latency_us(c);
                if (c.cost.algbw_gbps > 0) costs.push_back(c.cost);
            }
        }
    }
    return costs;
}

double nccl_time_us(NcclGroup const& group, NcclCost const& cost, std::int64_t size_bytes) {
    double bandwidth = cost.algbw_gbps, latency = cost.latency_us;
    if (cost.collective == Collective::all_reduce && size_bytes >= 64) {
        auto const index = static_cast<std::size_t>(
            std::bit_width(static_cast<std::uint64_t>(size_bytes) >> 6) - 1);
        auto const& correction = kTreeCorrection[static_cast<std::size_t>(cost.proto)];
        bool const blackwell = group.min_compute_capability >= 100 && group.cpu_arch == kX86;
        if (cost.algo == NcclAlgo::tree && index < 23) bandwidth *= correction[index];
        if (cost.algo == NcclAlgo::nvls_tree && blackwell && index < 24) {
            bandwidth *= correction[index];
        }
    }
    std::int64_t const lanes = std::int64_t{group.channels} * group.shape.ranks;
    if (cost.algo == NcclAlgo::ring && cost.proto == NcclProto::simple && group.shape.nodes > 1 &&
        cost.collective == Collective::all_reduce && lanes > 0 && size_bytes / lanes >= 64) {
        latency *= group.min_compute_capability < 80 ? 1.9 : 1.4;
    }
    return latency + static_cast<double>(size_bytes) / (1000 * bandwidth);
}

std::vector<NcclTime> nccl_ranking(NcclGroup const& group, NcclConstants const& constants,
                                   Collective collective, std::int64_t size_bytes) {
    std::vector<NcclTime> ranking;
    for (NcclCost const& cost : nccl_costs(group, constants)) {
        if (cost.collective != collective) continue;
        ranking.push_back({cost, nccl_time_us(group, cost, size_bytes)});
    }
    std::ranges::stable_sort(ranking, {}, &NcclTime::time_us);
    return ranking;
}

std::string explain(std::vector<NcclTime> const& ranking) {
    constexpr std::size_t kNamed = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(ranking.size(), kNamed); ++i) {
        text += i == 0 ? "" : i == 1 ? "; next " : ", ";
        text += fmt::format("{}/{} {}", algo_name(ranking[i].cost.algo),
                            proto_name(ranking[i].cost.proto),
                            format_seconds(ranking[i].time_us * 1e-6));
    }
    return text;
}

}  // namespace osora::topology
