#include "db/analysis/bisect/scaling_study.hpp"

#include "base/relative_fit.hpp"
#include "base/robust.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>

namespace osora::db::analysis {
namespace {

constexpr std::size_t kTerms = 4;
constexpr double kKneeErrors = 3;

std::array<double, kTerms> terms_at(double nodes) {
    return {1, std::log2(nodes), (nodes - 1) / nodes, nodes};
}

Result<void> check(std::vector<ScalingPoint> const& points) {
    std::set<int> sizes;
    for (auto const& point : points) {
        auto const bad = [&](std::string_view what, double value) {
            return Error{Errc::invalid_input,
                         fmt::format("{} nodes: {} {}: not above 0", point.nodes, what, value)};
        };
        if (point.nodes < 1) return bad("nodes", point.nodes);
        if (!sizes.insert(point.nodes).second) {
            return Error{Errc::invalid_input, fmt::format("{} nodes: given twice", point.nodes)};
        }
        if (point.step_s.empty()) {
            return Error{Errc::invalid_input, fmt::format("{} nodes: no run", point.nodes)};
        }
        for (double const each : point.step_s) {
            if (!std::isfinite(each) || each <= 0) return bad("step_s", each);
        }
        if (!std::isfinite(point.samples_per_step) || point.samples_per_step <= 0) {
            return bad("samples_per_step", point.samples_per_step);
        }
        for (auto const& [name, value] : point.components_s) {
            if (!std::isfinite(value) || value < 0) {
                return Error{Errc::invalid_input, fmt::format("{} nodes: {} {}: not 0 or more",
                                                              point.nodes, name, value)};
            }
        }
    }
    if (points.size() < 2) {
        return Error{Errc::not_found,
                     fmt::format("{} size{} measured; needed: 2, better 1, 2, 4, 8 and more",
                                 points.size(), points.size() == 1 ? "" : "s")};
    }
    return boost::system::in_place_value;
}

/// Relative spread from one run to the next, pooled over the sizes with repeats.
double relative_sigma(std::vector<ScalingPoint> const& points, ScalingOptions const& options) {
    if (std::isfinite(options.sigma)) return std::max(options.sigma, options.sigma_floor);
    double squares = 0;
    std::size_t freedom = 0;
    for (auto const& point : points) {
        double const level = mean(point.step_s);
        for (double const each : point.step_s) {
            squares += (each / level - 1) * (each / level - 1);
        }
        freedom += point.step_s.size() - 1;
    }
    double const sigma = freedom > 0 ? std::sqrt(squares / static_cast<double>(freedom)) : 0;
    return std::max(sigma, options.sigma_floor);
}

/// Scales times of a size to the work of a node at the smallest size.
double work_scale(ScalingPoint const& smallest, ScalingPoint const& point) {
    return smallest.samples_per_step / smallest.nodes / (point.samples_per_step / point.nodes);
}

/// Akaike's criterion with the correction for few points; laws within the noise are equally good,
/// so the one with fewer terms is chosen. Infinite with too few points for that many terms.
double criterion(double squares, double points, int terms, double sigma) {
    double const spare = points - terms - 1;
    if (spare <= 0) return std::numeric_limits<double>::infinity();
    double const variance = std::max(squares / points, sigma * sigma);
    return points * std::log(variance) + 2 * terms + 2.0 * terms * (terms + 1) / spare;
}

ScalingLaw fit(std::vector<ScalingPoint> const& points, double sigma) {
    std::vector<RelativeRow> rows;
    for (auto const& point : points) {
        double const time = median(point.step_s) * work_scale(points.front(), point);
        auto const terms = terms_at(point.nodes);
        rows.emplace_back();
        for (double const term : terms) rows.back().push_back(term / time);
    }
    ScalingLaw best;
    auto const terms_max = std::max(1, static_cast<int>(points.size()) - 2);
    for (unsigned set = 1; set < 1U << kTerms; ++set) {
        if (std::popcount(set) > terms_max) continue;
        auto const found = fit_terms(rows, set);
        if (found.empty()) continue;
        double const squares = squared_error(rows, found);
        auto const count = static_cast<double>(rows.size());
        double const aicc = criterion(squares, count, std::popcount(set), sigma);
        // With two points no law has a criterion.
        bool const is_better = std::isnan(best.aicc) || aicc < best.aicc ||
                               (aicc == best.aicc && std::sqrt(squares / count) < best.error);
        if (!is_better) continue;
        best = {found[0], found[1], found[2], found[3], aicc, std::sqrt(squares / count)};
    }
    return best;
}

std::map<std::string, double> known_of_both(std::map<std::string, double> growth_s,
                                            ScalingPoint const& from, ScalingPoint const& point) {
    std::erase_if(growth_s, [&](auto const& part) {
        return !from.components_s.contains(part.first) || !point.components_s.contains(part.first);
    });
    return growth_s;
}

void attribute_growth(ScalingPoint const& smallest, ScalingPoint const& before,
                      ScalingPoint const& point, ScalingStep& step) {
    using Parts = std::map<std::string, double> ScalingPoint::*;
    auto const growth = [&](ScalingPoint const& from, Parts parts) {
        std::map<std::string, double> seconds;
        for (auto const& [name, value] : point.*parts) {
            seconds[name] += value * work_scale(smallest, point);
        }
        for (auto const& [name, value] : from.*parts) {
            seconds[name] -= value * work_scale(smallest, from);
        }
        return seconds;
    };
    step.growth_s = known_of_both(growth(smallest, &ScalingPoint::components_s), smallest, point);
    step.collectives_growth_s = growth(smallest, &ScalingPoint::collectives_s);
    double most = 0;
    auto const since = known_of_both(growth(before, &ScalingPoint::components_s), before, point);
    for (auto const& [name, over_before] : since) {
        if (over_before <= most) continue;
        most = over_before;
        step.largest = name;
    }
}

ScalingStep step_of(ScalingPoint const& smallest, ScalingPoint const& before,
                    ScalingPoint const& point, double sigma) {
    auto const work_s = [&](ScalingPoint const& at) {
        return median(at.step_s) * work_scale(smallest, at);
    };
    ScalingStep step;
    step.nodes = point.nodes;
    step.step_s = median(point.step_s);
    step.efficiency = work_s(smallest) / work_s(point);
    if (point.nodes > before.nodes) {
        double const doublings = std::log2(static_cast<double>(point.nodes) / before.nodes);
        step.per_doubling = std::pow(work_s(before) / work_s(point), 1 / doublings);
        double const error = sigma * std::sqrt(1.0 / static_cast<double>(point.step_s.size()) +
                                               1.0 / static_cast<double>(before.step_s.size()));
        step.noise = kKneeErrors * error / doublings;
    }
    attribute_growth(smallest, before, point, step);
    return step;
}

}  // namespace

double ScalingLaw::at(double nodes) const {
    auto const terms = terms_at(nodes);
    return constant_s * terms[0] + log2_s * terms[1] + ring_s * terms[2] + linear_s * terms[3];
}

std::string ScalingLaw::text() const {
    std::string text;
    auto const add = [&](double factor, std::string_view term) {
        if (factor > 0) text += fmt::format("{}{:.3g}{}", text.empty() ? "" : " + ", factor, term);
    };
    add(constant_s, "");
    add(log2_s, " log2 n");
    add(ring_s, " (n-1)/n");
    add(linear_s, " n");
    return text;
}

Result<ScalingStudy> study_scaling(std::vector<ScalingPoint> points,
                                   ScalingOptions const& options) {
    OSORA_TRY_VOID(check(points));
    std::ranges::sort(points, {}, &ScalingPoint::nodes);
    double const sigma = relative_sigma(points, options);
    auto const& smallest = points.front();
    ScalingStudy study;
    study.strong = std::ranges::all_of(points, [&](ScalingPoint const& each) {
        return each.samples_per_step == smallest.samples_per_step;
    });
    study.law = fit(points, sigma);
    study.knee_nodes = points.back().nodes;
    for (std::size_t i = 0; i < points.size(); ++i) {
        auto const& before = points[i > 0 ? i - 1 : 0];
        study.steps.push_back(step_of(smallest, before, points[i], sigma));
        auto const& step = study.steps.back();
        double const loss = 1 - step.per_doubling;
        if (study.has_knee || loss <= std::max(step.noise, options.loss_per_doubling)) continue;
        study.has_knee = true;
        study.knee_nodes = before.nodes;
    }
    if (points.size() < 4) {
        study.notes.push_back(
            fmt::format("{} sizes: too few to tell laws of two terms apart", points.size()));
    }
    return study;
}

}  // namespace osora::db::analysis
