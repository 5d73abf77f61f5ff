#include "cli/bisect/bisect_atoms.hpp"

#include "base/host_name.hpp"
#include "cli/text/terminal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace osora::cli {
namespace {

using namespace db::analysis;

bool is_config_key(BisectSide const& good, BisectSide const& bad, std::string const& name) {
    return good.run.config.contains(name) || bad.run.config.contains(name);
}

bool all_available(std::vector<std::string> const& hosts,
                   std::vector<std::string> const& available) {
    return std::ranges::all_of(hosts,
                               [&](auto const& host) { return names_host(available, host); });
}

std::string why_not_built(Factor const& factor, CommitSwitch const& commits) {
    if (factor.name == commits.factor) return commits.why_not;
    if (factor.name == "code.dirty") {
        return "changes that are not committed cannot be built; commit them and submit again";
    }
    return "trials run what is installed here";
}

/// "" when a trial can give the factor either value.
std::string why_not(BisectSide const& good, BisectSide const& bad, Factor const& factor,
                    std::vector<std::string> const& available, CommitSwitch const& commits) {
    switch (factor.kind) {
        case FactorKind::env:
            if (!is_trial_variable(factor.name)) return "osora sets no such variable in a trial";
            if (is_one_value(factor.good) && is_one_value(factor.bad)) return "";
            return "it differs between the ranks of a run";
        case FactorKind::node_set:
            if (all_available(good.hosts, available) && all_available(bad.hosts, available)) {
                return "";
            }
            return "start osora bisect in an allocation that holds the nodes of both runs";
        case FactorKind::commit:
            return why_not_built(factor, commits);
        case FactorKind::software:
            return "trials run what is installed here";
        case FactorKind::hardware:
            return "it belongs to the machines";
        case FactorKind::config:
        case FactorKind::data:
        case FactorKind::node_count:
            break;
    }
    if (factor.name.starts_with("stage[")) return "trials train without [[stage]] tables";
    if (is_config_key(good, bad, factor.name)) return "";
    return "it is no key of the run file";
}

/// Whether the key `name` of the run file sets `variable`.
bool sets(std::string const& name, std::string const& variable) {
    return name == "nccl." + variable || name == "worker.env." + variable;
}

std::string name_of(std::vector<Factor> const& factors, FactorGroup const& atom) {
    auto const named = named_factors(factors, atom.factors);
    if (named.size() > 1) return atom.name;
    return factors[static_cast<std::size_t>(named.front())].name;
}

}  // namespace

std::vector<int> named_factors(std::vector<Factor> const& factors, std::vector<int> indices) {
    auto const at = [&](int index) -> Factor const& {
        return factors[static_cast<std::size_t>(index)];
    };
    auto const all = indices;
    std::erase_if(indices, [&](int index) {
        return at(index).kind == FactorKind::env && std::ranges::any_of(all, [&](int other) {
                   return sets(at(other).name, at(index).name);
               });
    });
    return indices;
}

RunFacts facts_of(BisectSide const& side) {
    auto const& run = side.run;
    RunFacts facts{run.config, run.software, run.env, run.hardware, {}, 1, 1, ""};
    for (auto const& node : run.summary.nodes) facts.nodes.push_back(node.hostname);
    facts.node_count = run.summary.run.nodes;
    facts.gpus_per_node = run.summary.run.ranks / std::max(1, facts.node_count);
    auto const commit = run.software.find("commit");
    if (commit != run.software.end()) facts.commit = commit->second;
    return facts;
}

Suspect suspect_of(BisectSide const& good, BisectSide const& bad) {
    auto const seconds = [](BisectSide const& side, double share) {
        return std::isnan(share) ? 0 : share * side.step_s();
    };
    struct Part {
        double grew_s;
        Suspect suspect;
    };
    auto const& a = *good.run.summary.measured;
    auto const& b = *bad.run.summary.measured;
    double const comm = seconds(bad, b.comm_share) - seconds(good, a.comm_share);
    double const wait = seconds(bad, b.wait_share) - seconds(good, a.wait_share);
    double const data = seconds(bad, b.data_share) - seconds(good, a.data_share);
    double const rest = bad.step_s() - good.step_s() - comm - wait - data;
    std::array<Part, 3> const parts{Part{comm, Suspect::comm}, Part{data, Suspect::loader},
                                    Part{rest + wait, Suspect::compute}};
    auto const largest = std::ranges::max_element(parts, {}, &Part::grew_s);
    return largest->grew_s > 0 ? largest->suspect : Suspect::none;
}

TriableAtoms triable_atoms(BisectSide const& good, BisectSide const& bad,
                           std::vector<std::string> const& available, CommitSwitch const& commits) {
    auto items = factors_of(facts_of(good), facts_of(bad), suspect_of(good, bad));
    TriableAtoms triable;
    for (FactorGroup const& atom : items.atoms) {
        std::string why;
        bool can = false, has_commit = false, is_path = false;
        for (int const index : atom.factors) {
            auto const& factor = items.factors[static_cast<std::size_t>(index)];
            bool const is_commit = factor.kind == FactorKind::commit;
            auto const reason = why_not(good, bad, factor, available, commits);
            can = can || reason.empty();
            if (!reason.empty() && (why.empty() || factor.name == commits.factor)) why = reason;
            has_commit = has_commit || is_commit;
            is_path = is_path || (is_commit && reason.empty());
        }
        // Changes with a setting that it follows from, or with the machine.
        if (can && has_commit == is_path) {
            if (is_path) triable.commit_atom = static_cast<int>(triable.atoms.size());
            triable.atoms.push_back(atom);
            triable.atoms.back().name = is_path ? commits.factor : name_of(items.factors, atom);
            continue;
        }
        for (int const index : atom.factors) {
            auto const& factor = items.factors[static_cast<std::size_t>(index)];
            triable.not_tried.push_back({factor.name, factor.good, factor.bad, why});
        }
    }
    triable.factors = std::move(items.factors);
    return triable;
}

TrialChoice choice_of(TriableAtoms const& atoms, std::vector<bool> const& flipped) {
    TrialChoice choice;
    for (std::size_t i = 0; i < atoms.atoms.size() && i < flipped.size(); ++i) {
        if (!flipped[i]) continue;
        for (int const index : atoms.atoms[i].factors) {
            auto const& factor = atoms.factors[static_cast<std::size_t>(index)];
            switch (factor.kind) {
                case FactorKind::env:
                    choice.variables.insert(factor.name);
                    break;
                case FactorKind::node_set:
                    choice.hosts = true;
                    break;
                case FactorKind::hardware:
                case FactorKind::commit:
                    break;
                default:
                    choice.config_keys.insert(factor.name);
            }
        }
    }
    return choice;
}

std::string flipped_text(TriableAtoms const& atoms, std::vector<bool> const& flipped, int columns) {
    std::vector<std::string> on, off;
    for (std::size_t i = 0; i < flipped.size(); ++i) {
        (flipped[i] ? on : off).push_back(printable(atoms.atoms[i].name));
    }
    if (on.empty()) return "-";
    if (off.empty()) return "all";
    auto const fits = [&](std::string const& text) { return display_width(text) <= columns; };
    auto const text = fmt::format("{}", fmt::join(on, ", "));
    if (fits(text)) return text;
    auto const rest = fmt::format("all but {}", fmt::join(off, ", "));
    if (fits(rest)) return rest;
    auto const count = fmt::format("{} of {}: ", on.size(), flipped.size());
    return count + clipped(text, columns - display_width(count) - 3) + "...";
}

}  // namespace osora::cli
