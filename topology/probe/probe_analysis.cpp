// Leaves first, then nodes by transfers without slow uplinks, then pairs that are low between good
// nodes.
#include "topology/probe/probe_analysis.hpp"

#include "base/robust.hpp"
#include "base/text/units.hpp"
#include "topology/probe/end_scores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace osora::topology {
namespace {

constexpr double kSuspectBelow = 0.96;  // of the median: worth another transfer
constexpr double kLeafDrop = 0.10, kPairDrop = 0.12;
constexpr double kFasterNetwork = 1.3;
constexpr int kCleanEnough = 2;
constexpr std::size_t kTransfersToAccuse = 3;  // of a pair

bool is_node_stage(PairRate const& each) {
    return each.stage == ProbeStage::matching || each.stage == ProbeStage::retest ||
           each.stage == ProbeStage::leaf_one;
}

/// Rates of the pairs between two leaves.
struct LeafPair {
    int a = 0, b = 0;
    double all = 0;       // mean rate of a pair of nodes while all are active
    double possible = 0;  // what they would reach one at a time
    double one = 0;       // rate of one pair alone
    int pairs = 0;
};

/// `reference`: rate of nodes without shared uplinks.
std::vector<LeafPair> leaf_pairs(Leaves const& leaves, std::vector<PairRate> const& rates,
                                 EndScores const& reference) {
    auto const possible = [&](int node) {
        auto const& end = reference.ends[static_cast<std::size_t>(node)];
        return end.samples > 0 ? std::min(1.0, end.of_median) : 1.0;
    };
    std::map<std::pair<int, int>, LeafPair> found;
    for (PairRate const& each : rates) {
        bool const all = each.stage == ProbeStage::leaf_all;
        if (!all && each.stage != ProbeStage::leaf_one) continue;
        int const left = leaves.of_node[static_cast<std::size_t>(each.a)];
        int const right = leaves.of_node[static_cast<std::size_t>(each.b)];
        if (left < 0 || right < 0 || left == right) continue;
        auto& pair = found[std::minmax(left, right)];
        std::tie(pair.a, pair.b) = std::minmax(left, right);
        if (all) {
            pair.all += each.gbit_s;
            pair.possible += reference.median * std::min(possible(each.a), possible(each.b));
            ++pair.pairs;
        } else {
            pair.one = each.gbit_s;
        }
    }
    std::vector<LeafPair> list;
    for (auto& [key, pair] : found) {
        if (pair.pairs < 2) continue;
        pair.all /= pair.pairs;
        pair.possible /= pair.pairs;
        list.push_back(pair);
    }
    return list;
}

struct LeafVerdict {
    std::vector<bool> slow;  // by leaf
    std::vector<ProbeFinding> findings;
};

std::string leaf_figures(LeafPair const& pair) {
    return fmt::format("{} pairs at once get {} each, one pair alone {}", pair.pairs,
                       format_gbit_per_s(pair.all), format_gbit_per_s(pair.one));
}

LeafVerdict judge_leaves(Leaves const& leaves, std::vector<PairRate> const& rates,
                         EndScores const& reference) {
    LeafVerdict verdict{std::vector<bool>(static_cast<std::size_t>(leaves.count())), {}};
    auto const pairs = leaf_pairs(leaves, rates, reference);
    std::vector<PairValue> values;
    for (LeafPair const& each : pairs) {
        if (each.possible > 0) values.push_back({each.a, each.b, each.all / each.possible});
    }
    if (values.empty()) return verdict;
    auto const scores = score_ends(leaves.count(), values, kLeafDrop);
    auto const name = [&](int leaf) { return leaves.names[static_cast<std::size_t>(leaf)]; };
    for (int leaf = 0; leaf < leaves.count() && pairs.size() > 1; ++leaf) {
        auto const& score = scores.ends[static_cast<std::size_t>(leaf)];
        if (!score.bad) continue;
        verdict.slow[static_cast<std::size_t>(leaf)] = true;
        auto const shown = std::ranges::find_if(
            pairs, [&](LeafPair const& each) { return each.a == leaf || each.b == leaf; });
        auto nodes = leaves.nodes()[static_cast<std::size_t>(leaf)];
        verdict.findings.push_back(
            {.kind = "slow_link",
             .nodes = {},
             .where = "uplink of " + name(leaf),
             .ratio = score.of_median,
             .evidence = fmt::format("{} nodes: {}; {:.2f} of the other leaves in {} of {} pairs "
                                     "of leaves",
                                     nodes.size(), leaf_figures(*shown), score.of_median,
                                     score.samples, leaves.count() - 1)});
    }
    // The rest is the same on all leaves: a fabric with less capacity than its nodes.
    double const share = scores.median;
    if (share < 1 - kLeafDrop) {
        bool const two = pairs.size() == 1;
        for (int leaf = 0; leaf < leaves.count(); ++leaf) {
            verdict.slow[static_cast<std::size_t>(leaf)] = true;
        }
        verdict.findings.push_back(
            {.kind = "oversubscribed",
             .nodes = {},
             .where = two ? fmt::format("{} - {}", name(pairs[0].a), name(pairs[0].b))
                          : "links between leaves",
             .ratio = share,
             .evidence = leaf_figures(pairs[0])});
    }
    return verdict;
}

std::vector<PairValue> node_values(std::vector<PairRate> const& rates) {
    std::vector<PairValue> values;
    for (PairRate const& each : rates) values.push_back({each.a, each.b, each.gbit_s});
    return values;
}

void judge_nodes(ProbeAnalysis& analysis, EndScores const& scores,
                 std::vector<std::string> const& names) {
    for (std::size_t node = 0; node < names.size(); ++node) {
        EndScore const& end = scores.ends[node];
        analysis.scores.push_back({.gbit_s = end.of_median * scores.median,
                                   .of_median = end.of_median,
                                   .samples = end.samples,
                                   .bad = end.bad,
                                   .interface = {}});
        bool const unclear = end.partners_clean < kCleanEnough && end.of_median < 1 - kPairDrop;
        bool const low = end.samples > 0 && (end.bad || end.of_median < kSuspectBelow);
        if (low || (unclear && end.samples > 0)) analysis.suspects.insert(static_cast<int>(node));
        if (!end.bad) continue;
        analysis.findings.push_back(
            {.kind = "slow_node",
             .nodes = {names[node]},
             .where = names[node],
             .ratio = end.of_median,
             .evidence = fmt::format("{} in the median of {} transfers with {}, {:.2f} of the "
                                     "other nodes' {}",
                                     format_gbit_per_s(end.of_median * scores.median), end.samples,
                                     end.partners_clean > 0 ? "good nodes" : "any node",
                                     end.of_median, format_gbit_per_s(scores.median))});
    }
}

/// Pairs that are low although both nodes do well with others: reported when further transfers
/// confirm it.
void judge_pairs(ProbeAnalysis& analysis, EndScores const& scores,
                 std::vector<std::string> const& names, std::vector<PairRate> const& rates) {
    std::map<std::pair<int, int>, std::vector<double>> pairs;
    std::vector<std::pair<double, std::pair<int, int>>> suspects;
    double const allowed = 1 - std::max(kPairDrop, 5 * scores.noise);
    for (PairRate const& each : rates) {
        if (scores.ends[static_cast<std::size_t>(each.a)].bad ||
            scores.ends[static_cast<std::size_t>(each.b)].bad) {
            continue;
        }
        pairs[{each.a, each.b}].push_back(each.gbit_s);
    }
    for (auto const& [pair, values] : pairs) {
        double const best = *std::ranges::max_element(values);
        if (best >= allowed * analysis.median_gbit_s) continue;
        if (values.size() < kTransfersToAccuse) {
            suspects.emplace_back(best, pair);
            continue;
        }
        auto const& a = names[static_cast<std::size_t>(pair.first)];
        auto const& b = names[static_cast<std::size_t>(pair.second)];
        analysis.findings.push_back(
            {.kind = "slow_link",
             .nodes = {a, b},
             .where = a + " - " + b,
             .ratio = best / analysis.median_gbit_s,
             .evidence = fmt::format("{} at best in {} transfers between them; both do {} with "
                                     "other nodes",
                                     format_gbit_per_s(best), values.size(),
                                     format_gbit_per_s(analysis.median_gbit_s))});
    }
    std::ranges::sort(suspects);
    for (auto const& each : suspects) analysis.suspect_pairs.push_back(each.second);
}

/// The interface that a node's transfers of a network used.
using Interfaces = std::map<std::pair<int, std::string>, std::string>;

Interfaces interfaces_of(std::vector<PairSample> const& samples) {
    Interfaces found;
    for (PairSample const& each : samples) found[{each.from, each.network}] = each.interface;
    return found;
}

/// A network that ranks do not use and that is clearly faster, or a node that is fast only on
/// another network: its traffic uses the wrong interface.
void judge_networks(ProbeAnalysis& analysis, std::vector<std::string> const& names,
                    std::vector<PairRate> const& rates, Interfaces const& interfaces) {
    std::map<std::string, std::vector<PairValue>> networks;
    for (PairRate const& each : rates) {
        if (each.network.empty() == (each.stage == ProbeStage::interface_one)) continue;
        if (each.stage == ProbeStage::leaf_all) continue;
        networks[each.network].push_back({each.a, each.b, each.gbit_s});
    }
    if (networks.size() < 2) return;
    int const count = static_cast<int>(names.size());
    for (auto const& [network, values] : networks) {
        auto const scores = score_ends(count, values);
        for (int node = 0; node < count; ++node) {
            auto const& end = scores.ends[static_cast<std::size_t>(node)];
            auto const at = interfaces.find({node, network});
            if (end.samples == 0 || at == interfaces.end()) continue;
            analysis.interfaces.push_back({.node = node,
                                           .interface = at->second,
                                           .network = network,
                                           .gbit_s = end.of_median * scores.median,
                                           .of_median = end.of_median});
        }
        if (network.empty() || scores.median < kFasterNetwork * analysis.median_gbit_s) continue;
        // Its pairs came from nodes with a card there.
        auto const card = std::ranges::find(analysis.interfaces, network, &InterfaceScore::network);
        analysis.findings.push_back(
            {.kind = "slow_network",
             .nodes = {},
             .where = "all",
             .ratio = analysis.median_gbit_s / scores.median,
             .evidence = fmt::format("ranks meet on a network that carries {}; {} ({}) carries {}",
                                     format_gbit_per_s(analysis.median_gbit_s), card->interface,
                                     network, format_gbit_per_s(scores.median))});
    }
    for (auto& finding : analysis.findings) {
        if (finding.kind != "slow_node") continue;
        for (auto const& each : analysis.interfaces) {
            if (each.network.empty() || names[static_cast<std::size_t>(each.node)] != finding.where)
                continue;
            if (each.gbit_s < kFasterNetwork * finding.ratio * analysis.median_gbit_s) continue;
            auto const used = interfaces.find({each.node, ""});
            finding.evidence +=
                fmt::format("; over {} ({}) it reaches {}{}", each.interface, each.network,
                            format_gbit_per_s(each.gbit_s),
                            used == interfaces.end() ? "" : ", its ranks take " + used->second);
        }
    }
}

}  // namespace

std::vector<PairRate> pair_rates(std::vector<PairSample> const& samples, int nodes) {
    std::map<std::tuple<ProbeStage, int, int, int, std::string>, double> slowest;
    for (PairSample const& each : samples) {
        bool const usable = std::isfinite(each.seconds) && each.seconds > 0 &&
                            each.size_bytes >= 0 && each.from != each.to &&
                            std::min(each.from, each.to) >= 0 &&
                            std::max(each.from, each.to) < nodes;
        if (!usable) continue;
        double const gbit_s = static_cast<double>(each.size_bytes) * 8 / each.seconds / 1e9;
        auto const [a, b] = std::minmax(each.from, each.to);
        auto const [at, added] =
            slowest.try_emplace({each.stage, each.round, a, b, each.network}, gbit_s);
        if (!added) at->second = std::min(at->second, gbit_s);
    }
    std::vector<PairRate> rates;
    for (auto const& [key, gbit_s] : slowest) {
        auto const& [stage, round, a, b, network] = key;
        rates.push_back({stage, round, a, b, network, gbit_s});
    }
    return rates;
}

Leaves leaves_of(std::vector<std::string> const& by_node) {
    Leaves leaves;
    for (std::string const& name : by_node) {
        if (name.empty()) {
            leaves.of_node.push_back(-1);
            continue;
        }
        auto const at = std::ranges::find(leaves.names, name);
        leaves.of_node.push_back(static_cast<int>(at - leaves.names.begin()));
        if (at == leaves.names.end()) leaves.names.push_back(name);
    }
    return leaves;
}

std::vector<std::vector<int>> Leaves::nodes() const {
    std::vector<std::vector<int>> list(names.size());
    for (std::size_t node = 0; node < of_node.size(); ++node) {
        if (of_node[node] >= 0) {
            list[static_cast<std::size_t>(of_node[node])].push_back(static_cast<int>(node));
        }
    }
    return list;
}

ProbeAnalysis analyse_probe(std::vector<std::string> const& nodes,
                            std::vector<std::string> const& leaf_names,
                            std::vector<PairSample> const& samples) {
    ProbeAnalysis analysis;
    int const count = static_cast<int>(nodes.size());
    auto const leaves = leaves_of(leaf_names);
    auto rates = pair_rates(samples, count);
    std::vector<PairRate> single;
    std::ranges::copy_if(rates, std::back_inserter(single), is_node_stage);
    // Rates between nodes of one leaf, and of lone pairs between leaves: they share no uplink.
    std::vector<PairRate> unshared;
    std::ranges::copy_if(single, std::back_inserter(unshared), [&](PairRate const& each) {
        return each.stage == ProbeStage::leaf_one || !leaves.crosses(each);
    });
    auto const reference = score_ends(count, node_values(unshared.empty() ? single : unshared));
    auto verdict = judge_leaves(leaves, rates, reference);
    std::erase_if(single, [&](PairRate const& each) {
        auto const slow = [&](int node) {
            int const leaf = leaves.of_node[static_cast<std::size_t>(node)];
            return leaf >= 0 && verdict.slow[static_cast<std::size_t>(leaf)];
        };
        return leaves.crosses(each) && (slow(each.a) || slow(each.b));
    });
    auto const scores = score_ends(count, node_values(single));
    analysis.median_gbit_s = scores.median;
    analysis.findings = std::move(verdict.findings);
    judge_nodes(analysis, scores, nodes);
    judge_pairs(analysis, scores, nodes, single);
    judge_networks(analysis, nodes, rates, interfaces_of(samples));
    std::ranges::stable_sort(analysis.findings, {}, &ProbeFinding::ratio);
    return analysis;
}

}  // namespace osora::topology
