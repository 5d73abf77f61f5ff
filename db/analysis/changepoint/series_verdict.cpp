#include "db/analysis/changepoint/series_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::db::analysis::changepoint {
namespace {

/// Whether `value` is within one noise of `level`, or better.
bool is_back(double value, double level, double noise, Direction direction) {
    double const sign = direction == Direction::higher_is_worse ? 1 : -1;
    return sign * (value - level) <= noise * std::abs(level);
}

std::string percent(double effect) {
    return fmt::format("{:.1f} %", std::abs(100 * effect));
}

/// The newest level is worse, unless the newest values are no longer.
SeriesVerdict after_worse(std::span<double const> values, Segmentation const& robust,
                          Direction direction) {
    std::size_t const at = robust.points.size() - 1;
    ChangePoint const& point = robust.points[at];
    auto const newest = values.last(kBackAgain);
    bool const back = std::ranges::all_of(newest, [&](double value) {
        return is_back(value, point.before, robust.noise, direction);
    });
    if (back) {
        return {SeriesState::fixed,
                fmt::format("the newest {} values are back at the level before", kBackAgain), at};
    }
    return {
        SeriesState::regressed,
        fmt::format("the newest level is {} worse than the one before it", percent(point.effect())),
        at};
}

SeriesVerdict after_better(Segmentation const& robust, Direction direction) {
    std::size_t const at = robust.points.size() - 1;
    double const level = robust.points[at].after;
    for (std::size_t i = at; i-- > 0;) {
        ChangePoint const& point = robust.points[i];
        if (!is_worse(point, direction)) continue;
        if (is_back(level, point.before, robust.noise, direction)) {
            return {SeriesState::fixed, "the level before the regression is back", i};
        }
        ChangePoint const left{.before = point.before, .after = level};
        return {SeriesState::improved,
                fmt::format("better than the level before, still {} worse than before index {}",
                            percent(left.effect()), point.index),
                at};
    }
    return {SeriesState::improved,
            fmt::format("the newest level is {} better than the one before it",
                        percent(robust.points[at].effect())),
            at};
}

}  // namespace

bool is_worse(ChangePoint const& point, Direction direction) {
    return direction == Direction::higher_is_worse ? point.after > point.before
                                                   : point.after < point.before;
}

SeriesVerdict series_verdict(std::span<double const> values, Segmentation const& robust,
                             Direction direction, SegmentationOptions const& options) {
    auto const count = static_cast<int>(values.size());
    int const needed = values_needed(options);
    if (count < needed) {
        return {SeriesState::undecided, fmt::format("{} values, {} are needed", count, needed), {}};
    }
    if (robust.points.empty()) {
        return {SeriesState::steady,
                fmt::format("{} over {} values",
                            robust.modes ? "two speeds that take turns" : "one level", count),
                {}};
    }
    return is_worse(robust.points.back(), direction) ? after_worse(values, robust, direction)
                                                     : after_better(robust, direction);
}

}  // namespace osora::db::analysis::changepoint
