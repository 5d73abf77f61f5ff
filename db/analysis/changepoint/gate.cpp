#include "db/analysis/changepoint/gate.hpp"

#include "base/check.hpp"
#include "base/robust.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace osora::db::analysis::changepoint {
namespace {

/// The level that an attempt is compared with.
struct Level {
    bool logarithms = false;
    double median = kNotKnown, noise = kNotKnown;
    int runs = 0;
};

double scaled(double value, bool logarithms) {
    return logarithms ? std::log(value) : value;
}

Level level_of(std::span<double const> before, std::span<double const> attempts,
               GateOptions const& options) {
    std::vector<double> values;
    for (double const value : before) {
        if (std::isfinite(value)) values.push_back(value);
    }
    auto const surplus = static_cast<std::ptrdiff_t>(values.size()) - options.history;
    if (surplus > 0) values.erase(values.begin(), values.begin() + surplus);
    auto const positive = [](double value) { return value > 0; };
    Level level{.logarithms = std::ranges::all_of(values, positive) &&
                              std::ranges::all_of(attempts, positive),
                .runs = static_cast<int>(values.size())};
    for (double& value : values) value = scaled(value, level.logarithms);
    auto const spread = median_and_mad(std::move(values));
    double const size = level.logarithms ? 1 : std::abs(spread.median);
    level.median = spread.median;
    level.noise = std::max(kMadToDeviation * spread.mad, options.noise_floor * size);
    return level;
}

GateDecision judged(Level const& level, double attempt, GateOptions const& options) {
    GateDecision decision;
    decision.history = level.runs;
    if (level.runs < options.history_min) {
        decision.reason = fmt::format("{} run{} before it, {} are needed", level.runs,
                                      level.runs == 1 ? "" : "s", options.history_min);
        return decision;
    }
    if (!std::isfinite(attempt)) {
        decision.reason = "it was not measured";
        return decision;
    }
    double const sign = options.direction == Direction::higher_is_worse ? 1 : -1;
    decision.level = level.logarithms ? std::exp(level.median) : level.median;
    double const distance = scaled(attempt, level.logarithms) - level.median;
    decision.z = distance == 0 ? 0 : sign * distance / level.noise;
    ChangePoint const change{.before = decision.level, .after = attempt};
    decision.effect = distance == 0 ? 0 : sign * change.effect();
    bool const far = decision.z > options.z_limit;
    bool const large = decision.effect >= options.min_effect;
    decision.value = far && large ? GateState::suspect : GateState::clear;
    std::string_view const side = attempt >= decision.level ? "over" : "under";
    decision.reason =
        std::isfinite(decision.effect)
            ? fmt::format("{:.1f} % {} the median of {} runs, {:.1f} times their noise",
                          std::abs(100 * decision.effect), side, level.runs, std::abs(decision.z))
            : fmt::format("{} the median of {} runs, which is 0", side, level.runs);
    return decision;
}

}  // namespace

GateDecision gate(std::span<double const> before, std::span<double const> attempts,
                  GateOptions const& options) {
    OSORA_CHECK(attempts.size() == 1 || attempts.size() == 2);
    Level const level = level_of(before, attempts, options);
    GateDecision const first = judged(level, attempts.front(), options);
    if (attempts.size() == 1 || first.value != GateState::suspect) return first;
    GateDecision second = judged(level, attempts.back(), options);
    if (second.value == GateState::suspect) {
        second.value = GateState::confirmed;
        second.reason += "; so was the run before";
    } else if (second.value == GateState::clear) {
        second.value = GateState::dismissed;
        second.reason += "; the run before was slow once";
    }
    return second;
}

GateDecision gate_newest(std::span<double const> values, int level_start,
                         GateOptions const& options) {
    OSORA_CHECK(!values.empty());
    auto const in_level = static_cast<int>(values.size()) - 1 - level_start;
    if (in_level >= options.history_min) {
        values = values.subspan(static_cast<std::size_t>(level_start));
    }
    auto const newest = values.last(1);
    if (values.size() < 2) return gate({}, newest, options);
    auto const attempts = values.last(2);
    auto const earlier = values.first(values.size() - 2);
    if (gate(earlier, attempts.first(1), options).value == GateState::suspect) {
        return gate(earlier, attempts, options);
    }
    return gate(values.first(values.size() - 1), newest, options);
}

}  // namespace osora::db::analysis::changepoint
