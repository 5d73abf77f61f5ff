#include "db/analysis/bisect/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace osora::db::analysis {
namespace {

Groups without(Groups const& found, std::size_t left_out) {
    Groups others = found;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
    return others;
}

/// The effect of each member in good + found and in bad - found, in seconds, as far as it was
/// measured.
struct Members {
    std::vector<double> weights;
    std::vector<double> kept;  // share of the gap that remains without the member
};

Members weigh(TrialRunner const& trials, std::size_t atoms, Groups const& found) {
    Hybrid const good(atoms, false), bad(atoms, true);
    double const low = trials.level(good).value_s, gap = trials.level(bad).value_s - low;
    Hybrid const all = flip(good, found, true), none = flip(bad, found, false);
    Members members;
    for (std::size_t i = 0; i < found.size(); ++i) {
        double sum = 0;
        int effects = 0;
        Hybrid const others = flip(good, without(found, i), true);
        if (trials.count(others) > 0) {
            members.kept.push_back((trials.level(others).value_s - low) / gap);
            double const top = trials.count(all) > 0 ? trials.level(all).value_s : low + gap;
            sum += top - trials.level(others).value_s;
            effects += 1;
        }
        Hybrid const alone = flip(bad, without(found, i), false);
        if (trials.count(alone) > 0 && trials.count(none) > 0) {
            sum += trials.level(alone).value_s - trials.level(none).value_s;
            effects += 1;
        }
        members.weights.push_back(effects > 0 ? std::max(0.0, sum / effects) : 0);
    }
    return members;
}

Relation relation_of(std::size_t groups, std::vector<double> const& kept) {
    if (groups < 2) return groups == 0 ? Relation::none : Relation::single;
    if (kept.size() < groups) return Relation::none;
    if (std::ranges::all_of(kept, [](double share) { return share < 0.25; })) return Relation::both;
    if (std::ranges::all_of(kept, [](double share) { return share > 0.75; })) {
        return Relation::either;
    }
    return Relation::additive;
}

BisectVerdict verdict_of(Proof const& proof, double gap_s, bool is_stopped) {
    if (is_complete(proof) || is_main_part(proof, gap_s)) return BisectVerdict::proved;
    if (proof.sufficient) return BisectVerdict::sufficient;
    if (proof.necessary) return BisectVerdict::necessary;
    return is_stopped ? BisectVerdict::undecided : BisectVerdict::below_resolution;
}

}  // namespace

bool is_complete(Proof const& proof) {
    return proof.sufficient && proof.necessary && proof.p <= proved_p(proof);
}

bool is_main_part(Proof const& proof, double gap_s) {
    auto const is_main = [&](Effect const& effect) {
        return effect.value_s >= gap_s / 2 && effect.low_s > 0;
    };
    return proof.p <= proved_p(proof) && is_main(proof.added) && is_main(proof.removed);
}

bool fill_levels(TrialRunner const& trials, std::size_t atoms, BisectResult& result) {
    result.trials = trials.records();
    result.cost_gpu_s = trials.cost_gpu_s();
    Hybrid const good(atoms, false), bad(atoms, true);
    if (trials.count(good) == 0 || trials.count(bad) == 0) return false;
    result.good_s = trials.level(good).value_s;
    result.bad_s = trials.level(bad).value_s;
    result.sigma_s = trials.noise().sigma_s;
    result.d = (result.bad_s - result.good_s) / result.sigma_s;
    return true;
}

void conclude(TrialRunner const& trials, std::size_t atoms, Groups const& found,
              BisectResult& result) {
    bool const is_stopped = result.verdict == BisectVerdict::undecided;
    double const gap = fill_levels(trials, atoms, result) ? result.bad_s - result.good_s : 0;
    bool const was_searched = result.verdict != BisectVerdict::not_reproducible;
    if (found.empty() || !was_searched || gap <= 0) return;
    auto const& proof = result.proof;
    result.verdict = verdict_of(proof, gap, is_stopped);
    double sum = 0;
    int known = 0;
    for (double const effect : {proof.added.value_s, proof.removed.value_s}) {
        if (std::isnan(effect)) continue;
        sum += effect;
        known += 1;
    }
    if (known > 0) result.explained = std::max(0.0, sum / known / gap);
    auto const members = weigh(trials, atoms, found);
    result.relation = relation_of(found.size(), members.kept);
    double const total = std::accumulate(members.weights.begin(), members.weights.end(), 0.0);
    for (std::size_t i = 0; i < found.size(); ++i) {
        double const part =
            total > 0 ? members.weights[i] / total : 1 / static_cast<double>(found.size());
        result.culprits.push_back({found[i], known > 0 ? part * result.explained : kNotMeasured});
    }
    std::ranges::stable_sort(result.culprits, std::greater(), &Culprit::share);
}

Result<void> check_options(BisectOptions const& options) {
    auto const bad = [](std::string_view name, auto value, std::string_view range) {
        return Error{Errc::invalid_input, fmt::format("{} {}: not {}", name, value, range)};
    };
    if (!(options.min_effect >= 0 && options.min_effect < 100)) {
        return bad("min_effect", options.min_effect, "in [0, 100)");
    }
    bool const has_sigma = !std::isnan(options.sigma_s);
    if (has_sigma && !(std::isfinite(options.sigma_s) && options.sigma_s > 0)) {
        return bad("sigma_s", options.sigma_s, "above 0");
    }
    if (has_sigma && options.sigma_runs < 2) return bad("sigma_runs", options.sigma_runs, ">= 2");
    if (!(options.sigma_floor > 0 && options.sigma_floor < 1)) {
        return bad("sigma_floor", options.sigma_floor, "in (0, 1)");
    }
    if (options.baseline_trials < 2 || options.baseline_trials > 100) {
        return bad("baseline_trials", options.baseline_trials, "in [2, 100]");
    }
    if (options.trials_max < 1) return bad("trials_max", options.trials_max, ">= 1");
    if (!(options.budget_gpu_s > 0)) return bad("budget_gpu_s", options.budget_gpu_s, "above 0");
    return boost::system::in_place_value;
}

}  // namespace osora::db::analysis
