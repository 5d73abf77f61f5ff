// The fit of docs/rfc/006. With at most three columns, every active set is tried: no iteration that
// could fail to end.
#include "topology/collectives/collective_fit.hpp"

#include "base/relative_fit.hpp"
#include "base/text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace osora::topology {
namespace {

constexpr double kMiBytes = static_cast<double>(kMiB);
/// Size where messages are full at 8 ranks; grows with the square root of the number of ranks.
constexpr double kFullChunksBytes = 32.0 * kMiBytes;
constexpr double kKneeWeight = 0.3, kKneeFades = 0.3;
constexpr double kResidualShare = 0.5;  // share of a residual that counts as real, with 4 sizes or
                                        // more

double limited(double size_bytes, double limit) {
    return limit > 0 ? std::min(size_bytes, limit) : size_bytes;
}

Result<std::vector<SizeTime>> by_size(std::span<SizeTime const> samples) {
    std::map<std::int64_t, std::vector<double>> times;
    for (SizeTime const& each : samples) {
        if (each.size_bytes <= 0) {
            return Error{Errc::invalid_input,
                         fmt::format("size_bytes {}: not above 0", each.size_bytes)};
        }
        if (!std::isfinite(each.time_us) || each.time_us <= 0) {
            return Error{Errc::invalid_input,
                         fmt::format("time_us {} of {}: not above 0", each.time_us,
                                     format_bytes(each.size_bytes))};
        }
        times[each.size_bytes].push_back(each.time_us);
    }
    std::vector<SizeTime> medians;
    for (auto& [size, list] : times) {
        std::ranges::sort(list);
        std::size_t const half = list.size() / 2;
        double const median = list.size() % 2 ? list[half] : (list[half - 1] + list[half]) / 2;
        medians.push_back({size, median});
    }
    return medians;
}

/// A size cannot take longer than a larger one: cold first calls do.
void keep_rising(CollectiveFit& fit) {
    for (std::size_t i = fit.samples.size() - 1; i > 0; --i) {
        SizeTime& here = fit.samples[i - 1];
        double const above = fit.samples[i].time_us;
        if (here.time_us <= above) continue;
        if (here.time_us > 1.05 * above) {
            fit.notes.push_back(fmt::format("{} took {:.4g} us, longer than {}: taken as {:.4g} us",
                                            format_bytes(here.size_bytes), here.time_us,
                                            format_bytes(fit.samples[i].size_bytes), above));
        }
        here.time_us = above;
    }
}

/// Log-log line through two samples.
double between(SizeTime const& from, SizeTime const& to, double size_bytes) {
    double const share =
        std::log(size_bytes / static_cast<double>(from.size_bytes)) /
        std::log(static_cast<double>(to.size_bytes) / static_cast<double>(from.size_bytes));
    return from.time_us * std::pow(to.time_us / from.time_us, share);
}

std::string method_of(CollectiveFit const& fit, std::size_t fitted) {
    if (fitted == 2) return "a + bS: two sizes tell no more";
    std::string text =
        fmt::format("a + bS + c sqrt(min(S, {}))",
                    format_bytes(static_cast<std::int64_t>(fit.shape.sqrt_limit_bytes)));
    if (fit.knee > 0) text += ", knee";
    if (fitted > 3) text += ", half of the residuals";
    return text;
}

/// log(measured / law) at `size_bytes`, interpolated in log S; constant outside.
double residual(CollectiveFit const& fit, double size_bytes) {
    auto const fitted = std::span(fit.samples).subspan(fit.first_fitted);
    auto const of = [&](SizeTime const& each) {
        return std::log(each.time_us / fit.shape.time_us(static_cast<double>(each.size_bytes)));
    };
    auto const next = std::ranges::find_if(fitted, [&](SizeTime const& each) {
        return static_cast<double>(each.size_bytes) >= size_bytes;
    });
    if (next == fitted.begin()) return of(fitted.front());
    if (next == fitted.end()) return of(fitted.back());
    auto const before = next - 1;
    double const from = std::log(static_cast<double>(before->size_bytes));
    double const to = std::log(static_cast<double>(next->size_bytes));
    double const share = (std::log(size_bytes) - from) / (to - from);
    return of(*before) + share * (of(*next) - of(*before));
}

}  // namespace

double CostLaw::time_us(double size_bytes) const {
    return a_us + b_us_per_byte * size_bytes +
           c_us_per_sqrt_byte * std::sqrt(limited(size_bytes, sqrt_limit_bytes));
}

CostLaw fit_law(std::span<SizeTime const> samples, double sqrt_limit_bytes, bool with_sqrt) {
    // Columns are scaled by their largest value, so that their squares are comparable.
    std::vector<RelativeRow> rows;
    std::array<double, 3> scale{};
    for (SizeTime const& each : samples) {
        double const size = static_cast<double>(each.size_bytes);
        rows.push_back({1 / each.time_us, size / each.time_us,
                        std::sqrt(limited(size, sqrt_limit_bytes)) / each.time_us});
        for (std::size_t k = 0; k < 3; ++k) scale[k] = std::max(scale[k], rows.back()[k]);
    }
    for (auto& row : rows) {
        for (std::size_t k = 0; k < 3; ++k) row[k] /= scale[k];
    }
    std::vector<double> best(3);
    double least = std::numeric_limits<double>::infinity();
    for (unsigned set = 1; set < (with_sqrt ? 8U : 4U); ++set) {
        auto const x = fit_terms(rows, set);
        if (x.empty()) continue;
        double const loss = squared_error(rows, x);
        if (loss < least) {
            least = loss;
            best = x;
        }
    }
    return {best[0] / scale[0], best[1] / scale[1], best[2] / scale[2], sqrt_limit_bytes};
}

Result<CollectiveFit> fit_collective(GroupShape const& shape, std::span<SizeTime const> samples) {
    OSORA_TRY_VOID(check_shape(shape));
    CollectiveFit fit;
    OSORA_TRY(fit.samples, by_size(samples));
    if (fit.samples.size() < 2) {
        return Error{Errc::not_found,
                     fmt::format("{} size{} measured; needed: 2, better 1 MiB, "
                                 "32 MiB and 1 GiB",
                                 fit.samples.size(), fit.samples.size() == 1 ? "" : "s")};
    }
    keep_rising(fit);
    auto const large = std::ranges::find_if(
        fit.samples, [](SizeTime const& each) { return each.size_bytes >= kMiB; });
    if (fit.samples.end() - large >= 2) {
        fit.first_fitted = static_cast<std::size_t>(large - fit.samples.begin());
    }
    auto const fitted = std::span(fit.samples).subspan(fit.first_fitted);
    bool const with_sqrt = fitted.size() > 2;
    fit.law = fit_law(fitted, 0, with_sqrt);
    fit.shape =
        with_sqrt ? fit_law(fitted, kFullChunksBytes * std::sqrt(shape.ranks / 8.0)) : fit.law;
    if (with_sqrt && fit.shape.a_us > 0) {
        double const bend =
            fit.shape.c_us_per_sqrt_byte * std::sqrt(fit.shape.sqrt_limit_bytes) / fit.shape.a_us;
        fit.knee = kKneeWeight * std::max(0.0, 1 - bend / kKneeFades);
    }
    fit.method = method_of(fit, fitted.size());
    return fit;
}

double predict_us(CollectiveFit const& fit, std::int64_t size_bytes) {
    double const size = static_cast<double>(std::max<std::int64_t>(size_bytes, 1));
    auto const fitted = std::span(fit.samples).subspan(fit.first_fitted);
    if (size < static_cast<double>(fitted.front().size_bytes)) {
        if (fit.first_fitted == 0) {
            // Nothing was measured below: no faster than the law, no slower than the smallest size.
            return std::min(fitted.front().time_us, fit.shape.time_us(size));
        }
        auto const next = std::ranges::find_if(fit.samples, [&](SizeTime const& each) {
            return static_cast<double>(each.size_bytes) >= size;
        });
        if (next == fit.samples.begin()) return next->time_us;
        return between(*(next - 1), *next, size);
    }
    double const share = fitted.size() > 3 ? kResidualShare : 1;
    double const time = fit.shape.time_us(size) * std::exp(share * residual(fit, size));
    SizeTime const& first = fitted[0];
    SizeTime const& second = fitted[1];
    if (fit.knee <= 0 || size >= static_cast<double>(second.size_bytes)) return time;
    double const hinge =
        std::max(first.time_us, second.time_us * size / static_cast<double>(second.size_bytes));
    return time * std::pow(std::min(1.0, hinge / time), fit.knee);
}

double expected_error(CollectiveFit const& fit, std::int64_t size_bytes) {
    bool const below = size_bytes < fit.samples.front().size_bytes;
    if (below && fit.first_fitted == 0) return 1;
    return fit.samples.size() - fit.first_fitted == 2 ? 0.25 : 0.16;
}

}  // namespace osora::topology
