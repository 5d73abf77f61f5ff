#include "db/analysis/changepoint/mozilla.hpp"

#include "base/check.hpp"
#include "base/robust.hpp"
#include "db/analysis/changepoint/significance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace osora::db::analysis::changepoint {
namespace {

struct Weighted {
    double mean = 0, variance = 0;
};
/// The first value has weight 1, the last 1 / count.
Weighted weighted(std::span<double const> values) {
    auto const count = static_cast<double>(values.size());
    double sum = 0, weights = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        double const weight = (count - static_cast<double>(i)) / count;
        sum += values[i] * weight;
        weights += weight;
    }
    Weighted result{.mean = sum / weights};
    if (values.size() < 2) return result;
    for (double const value : values) {
        result.variance += (value - result.mean) * (value - result.mean);
    }
    result.variance /= count - 1;
    return result;
}

double student_t(std::span<double const> back, std::span<double const> fore) {
    auto const before = weighted(back), after = weighted(fore);
    double const change = after.mean - before.mean;
    if (change == 0) return 0;
    if (before.variance == 0 && after.variance == 0) return std::numeric_limits<double>::infinity();
    return std::abs(change) / std::sqrt(before.variance / static_cast<double>(back.size()) +
                                        after.variance / static_cast<double>(fore.size()));
}

struct Windows {
    std::vector<double> back;  // nearest first
    std::span<double const> fore;
    double t = 0;
};

/// Windows of every value except the first. The back window grows while no change is found.
std::vector<Windows> windows_of(std::span<double const> values, MozillaOptions const& options) {
    std::vector<Windows> all(values.size());
    int since_found = 0;
    for (std::size_t i = 1; i < values.size(); ++i) {
        Windows& windows = all[i];
        int const reach =
            std::clamp(since_found, std::min(options.back_min, options.back_max), options.back_max);
        auto const back = std::min(i, static_cast<std::size_t>(reach));
        for (std::size_t k = 1; k <= back; ++k) windows.back.push_back(values[i - k]);
        auto const fore = std::min(values.size() - i, static_cast<std::size_t>(options.fore));
        windows.fore = values.subspan(i, fore);
        windows.t = student_t(windows.back, windows.fore);
        since_found = windows.t > options.t_limit ? 0 : since_found + 1;
    }
    return all;
}

}  // namespace

std::vector<ChangePoint> mozilla_change_points(std::span<double const> values,
                                               MozillaOptions const& options) {
    OSORA_CHECK(std::min({options.back_min, options.back_max, options.fore}) >= 1);
    auto const all = windows_of(values, options);
    std::vector<ChangePoint> points;
    for (std::size_t i = 1; i < all.size(); ++i) {
        auto const& [back, fore, t] = all[i];
        if (static_cast<int>(back.size()) < options.back_min) continue;
        if (static_cast<int>(fore.size()) < options.fore) continue;
        if (!(t > options.t_limit) || all[i - 1].t > t) continue;
        if (i + 1 < all.size() && all[i + 1].t > t) continue;
        int const index = static_cast<int>(i);
        double const degrees = static_cast<double>(back.size() + fore.size()) - 2;
        ChangePoint const point{.index = index,
                                .before = mean(back),
                                .after = mean(fore),
                                .p = degrees > 0 ? student_t_p(t, degrees) : kNotKnown,
                                .lo = index,
                                .hi = index};
        if (std::abs(point.effect()) >= options.min_effect) points.push_back(point);
    }
    return points;
}

}  // namespace osora::db::analysis::changepoint
