#include "protocol/steps/straggler.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace osora::protocol {

Arrivals arrivals_of(MergedSteps const& steps, std::size_t index) {
    Arrivals const none{std::nan(""), std::nan(""), -1, 0};
    auto const found = steps.columns.find("arrival_s");
    if (found == steps.columns.end()) return none;
    auto const summary = summary_of(steps, found->first, found->second, index);
    if (summary.n <= 0) return none;
    return {summary.mean, summary.max, summary.argmax, static_cast<int>(summary.n)};
}

void merge(Arrivals& into, Arrivals const& other) {
    if (other.ranks == 0) return;
    if (into.ranks == 0) {
        into = other;
        return;
    }
    int const ranks = into.ranks + other.ranks;
    into.mean_s = (into.mean_s * into.ranks + other.mean_s * other.ranks) / ranks;
    if (other.latest_s > into.latest_s) {
        into.latest_s = other.latest_s;
        into.latest_rank = other.latest_rank;
    }
    into.ranks = ranks;
}

std::optional<Straggler> find_straggler(std::vector<ArrivalRow> const& rows) {
    struct Sums {
        int steps = 0;
        double late_s = 0, step_s = 0;
    };
    std::map<int, Sums> by_rank;
    int counted = 0;
    for (ArrivalRow const& row : rows) {
        Arrivals const& each = row.arrivals;
        bool const whole = each.ranks == row.ranks && each.ranks > 1 &&
                           std::isfinite(each.latest_s) && std::isfinite(each.mean_s) &&
                           row.step_time_s > 0;
        if (!whole) continue;
        ++counted;
        double const others_s = (each.mean_s * each.ranks - each.latest_s) / (each.ranks - 1);
        Sums& sums = by_rank[each.latest_rank];
        ++sums.steps;
        sums.late_s += each.latest_s - others_s;
        sums.step_s += row.step_time_s;
    }
    if (counted < kStragglerSteps) return std::nullopt;
    auto const most =
        std::ranges::max_element(by_rank, {}, [](auto const& each) { return each.second.steps; });
    Sums const& sums = most->second;
    Straggler found;
    found.rank = most->first;
    found.late_s = sums.late_s / sums.steps;
    found.share = sums.late_s / sums.step_s;
    found.steps = sums.steps;
    found.of_steps = counted;
    bool const often = 4 * found.steps >= 3 * counted;
    if (!often || found.share < kStragglerShare) return std::nullopt;
    return found;
}

}  // namespace osora::protocol
