#include "db/analysis/bisect/factors.hpp"

#include "base/host_list.hpp"
#include "db/analysis/bisect/factor_rules.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace osora::db::analysis {
namespace {

std::string value_of(Facts const& facts, std::string const& key) {
    auto const found = facts.find(key);
    return found == facts.end() ? std::string() : found->second;
}

void add_differing(Facts const& good, Facts const& bad, FactKind kind,
                   std::vector<Factor>& factors) {
    std::set<std::string> keys;
    for (auto const& [key, value] : good) keys.insert(key);
    for (auto const& [key, value] : bad) keys.insert(key);
    for (auto const& key : keys) {
        auto const was = value_of(good, key), is = value_of(bad, key);
        // A key without a value has the same effect as a missing key.
        if (was != is) factors.push_back({key, kind_of_factor(key, kind), was, is});
    }
}

/// Which nodes, and how many; if one run has more of the same nodes, only the count differs.
void add_nodes(RunFacts const& good, RunFacts const& bad, std::vector<Factor>& factors) {
    if (good.node_count != bad.node_count) {
        factors.push_back({"node_count", FactorKind::node_count, std::to_string(good.node_count),
                           std::to_string(bad.node_count)});
    }
    if (good.gpus_per_node != bad.gpus_per_node) {
        bool const is_known =
            std::ranges::find(factors, "resources.gpus_per_node", &Factor::name) != factors.end();
        if (!is_known) {
            factors.push_back({"resources.gpus_per_node", FactorKind::config,
                               std::to_string(good.gpus_per_node),
                               std::to_string(bad.gpus_per_node)});
        }
    }
    std::set<std::string> const was(good.nodes.begin(), good.nodes.end());
    std::set<std::string> const is(bad.nodes.begin(), bad.nodes.end());
    auto const& [fewer, more] = was.size() < is.size() ? std::tie(was, is) : std::tie(is, was);
    if (was.empty() || is.empty() || std::ranges::includes(more, fewer)) return;
    factors.push_back({"node_set", FactorKind::node_set, fold_hosts({was.begin(), was.end()}),
                       fold_hosts({is.begin(), is.end()})});
}

/// Groups of indices of factors that share a coupling, directly or through others.
std::vector<std::vector<int>> coupled(std::vector<Factor> const& factors) {
    std::vector<int> group(factors.size());
    std::iota(group.begin(), group.end(), 0);
    std::map<std::string, int> first_of;
    for (std::size_t i = 0; i < factors.size(); ++i) {
        auto labels = couplings_of(factors[i]);
        bool const moves_nodes = factors[i].kind == FactorKind::node_set &&
                                 std::ranges::any_of(factors, [](Factor const& each) {
                                     return each.kind == FactorKind::node_count;
                                 });
        if (moves_nodes) labels.emplace_back("ranks");
        for (auto const& label : labels) {
            auto const [place, is_new] = first_of.emplace(label, group[i]);
            if (is_new) continue;
            int const into = group[static_cast<std::size_t>(place->second)];
            std::ranges::replace(group, group[i], into);
        }
    }
    std::map<int, std::vector<int>> members;
    for (std::size_t i = 0; i < factors.size(); ++i)
        members[group[i]].push_back(static_cast<int>(i));
    std::vector<std::vector<int>> groups;
    for (auto& [id, indices] : members) groups.push_back(std::move(indices));
    return groups;
}

FactorGroup atom_of(std::vector<int> indices, std::vector<Factor> const& factors, Suspect suspect) {
    constexpr std::size_t kNamesMax = 3;
    FactorGroup atom{"", std::move(indices), 0};
    for (std::size_t i = 0; i < atom.factors.size(); ++i) {
        auto const& factor = factors[static_cast<std::size_t>(atom.factors[i])];
        atom.prior = std::max(atom.prior, prior_of(factor, suspect));
        if (i < kNamesMax) atom.name += (i == 0 ? "" : ", ") + factor.name;
    }
    if (atom.factors.size() > kNamesMax) {
        atom.name += ", " + std::to_string(atom.factors.size() - kNamesMax) + " more";
    }
    return atom;
}

}  // namespace

DifferingFactors factors_of(RunFacts const& good, RunFacts const& bad, Suspect suspect) {
    std::vector<Factor> all;
    add_differing(good.config, bad.config, FactKind::config, all);
    add_differing(good.software, bad.software, FactKind::software, all);
    add_differing(good.env, bad.env, FactKind::env, all);
    add_differing(good.hardware, bad.hardware, FactKind::hardware, all);
    bool const has_commit = std::ranges::find(all, "commit", &Factor::name) != all.end();
    if (good.commit != bad.commit && !has_commit) {
        all.push_back({"commit", FactorKind::commit, good.commit, bad.commit});
    }
    add_nodes(good, bad, all);
    std::ranges::stable_sort(all, {}, &Factor::name);

    DifferingFactors result;
    for (auto& factor : all) {
        auto why = why_harmless(factor.name, factor.kind);
        if (why.empty()) {
            result.factors.push_back(std::move(factor));
        } else {
            result.dropped.push_back({factor.name, factor.good, factor.bad, std::move(why)});
        }
    }
    for (auto& indices : coupled(result.factors)) {
        result.atoms.push_back(atom_of(std::move(indices), result.factors, suspect));
    }
    std::ranges::stable_sort(result.atoms, {}, &FactorGroup::name);
    std::ranges::stable_sort(result.atoms, std::greater(), &FactorGroup::prior);
    return result;
}

}  // namespace osora::db::analysis
