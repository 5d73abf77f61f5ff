#include "cli/bisect/bisect_culprit.hpp"

#include "cli/text/fact_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace osora::cli {
namespace {

/// "bucket[1]" for its keys; "" for factors of several places.
std::string common_place(BisectPlan const& plan, std::vector<int> const& factors) {
    auto const place_of = [&](int index) {
        auto const& name = plan.atoms.factor(index).name;
        auto const dot = name.rfind('.');
        return dot == std::string::npos ? std::string() : name.substr(0, dot);
    };
    auto const place = place_of(factors.front());
    bool const same =
        std::ranges::all_of(factors, [&](int index) { return place_of(index) == place; });
    return same ? place : "";
}

}  // namespace

std::vector<int> culprit_factors(BisectPlan const& plan, db::analysis::Culprit const& culprit) {
    std::vector<int> factors;
    for (int const atom : culprit.atoms) {
        auto const& more = plan.atoms.atoms[static_cast<std::size_t>(atom)].factors;
        factors.insert(factors.end(), more.begin(), more.end());
    }
    return named_factors(plan.atoms.factors, std::move(factors));
}

NamedCulprit named_culprit(BisectPlan const& plan, db::analysis::Culprit const& culprit) {
    auto const factors = culprit_factors(plan, culprit);
    if (factors.size() == 1) {
        auto const& factor = plan.atoms.factor(factors.front());
        return {factor.name, factor.good, factor.bad};
    }
    auto const place = common_place(plan, factors);
    std::vector<std::string> names, good, bad;
    for (int const index : factors) {
        auto const& factor = plan.atoms.factor(index);
        auto const key = place.empty() ? factor.name : factor.name.substr(place.size() + 1);
        names.push_back(factor.name);
        if (!factor.good.empty()) good.push_back(key + "=" + plain_number(factor.good));
        if (!factor.bad.empty()) bad.push_back(key + "=" + plain_number(factor.bad));
    }
    return {place.empty() ? fmt::format("{}", fmt::join(names, " + ")) : place,
            fmt::format("{}", fmt::join(good, ", ")), fmt::format("{}", fmt::join(bad, ", "))};
}

namespace {

ShownCulprit shown_commits(BisectPlan const& plan, int first, int last, double share) {
    auto const& states = plan.commits.path->states;
    return {.named = {"commit", states[static_cast<std::size_t>(first)].hash,
                      states[static_cast<std::size_t>(last)].hash},
            .share = share,
            .factors = {},
            .first_step = first,
            .last_step = last};
}

/// The commits that trials could separate; the whole range if none could be.
std::vector<ShownCulprit> shown_path(BisectPlan const& plan, BisectAnswer const& answer,
                                     double share) {
    std::vector<ShownCulprit> shown;
    if (answer.commits) {
        for (auto const& each : answer.commits->culprits) {
            shown.push_back(
                shown_commits(plan, each.atoms.front(), each.atoms.back() + 1, share * each.share));
            shown.back().p = answer.commits->proof.p;
        }
    }
    if (!shown.empty()) return shown;
    return {shown_commits(plan, 0, plan.commits.path->steps(), share)};
}

}  // namespace

std::vector<ShownCulprit> shown_culprits(BisectPlan const& plan, BisectAnswer const& answer) {
    if (!answer.items) {
        bool const found = answer.commits && !answer.commits->culprits.empty();
        return found ? shown_path(plan, answer, 1) : std::vector<ShownCulprit>();
    }
    std::vector<ShownCulprit> shown;
    for (auto const& culprit : answer.items->culprits) {
        if (plan.tries_commits() && culprit.atoms == std::vector{plan.atoms.commit_atom}) {
            for (auto& each : shown_path(plan, answer, culprit.share)) {
                if (std::isnan(each.p)) each.p = answer.items->proof.p;
                shown.push_back(std::move(each));
            }
            continue;
        }
        shown.push_back({.named = named_culprit(plan, culprit),
                         .share = culprit.share,
                         .p = answer.items->proof.p,
                         .factors = culprit_factors(plan, culprit)});
    }
    return shown;
}

}  // namespace osora::cli
