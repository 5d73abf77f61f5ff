#include "cli/bisect_culprit.hpp"

#include "cli/fact_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

}  // namespace osora::cli
