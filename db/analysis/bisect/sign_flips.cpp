#include "db/analysis/bisect/sign_flips.hpp"

#include "base/check.hpp"
#include "base/robust.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace osora::db::analysis {
namespace {

constexpr double kLimit = 1.5;
constexpr std::size_t kPairsMax = 40;

std::vector<double> limited(std::span<double const> differences) {
    std::vector<double> sizes;
    for (double const each : differences) sizes.push_back(std::abs(each));
    double const limit = kLimit * median(std::move(sizes));
    std::vector<double> values;
    for (double const each : differences) values.push_back(std::clamp(each, -limit, limit));
    return values;
}

/// Sums of all 2^n sign patterns, ascending.
std::vector<double> signed_sums(std::span<double const> values) {
    std::vector<double> sums{0};
    for (double const each : values) {
        std::size_t const count = sums.size();
        for (std::size_t i = 0; i < count; ++i) {
            sums.push_back(sums[i] + each);
            sums[i] -= each;
        }
    }
    std::ranges::sort(sums);
    return sums;
}

}  // namespace

double sign_flip_p(std::span<double const> differences) {
    if (differences.empty()) return 1;
    OSORA_CHECK_LE(differences.size(), kPairsMax);
    auto const values = limited(differences);
    double const seen = std::accumulate(values.begin(), values.end(), 0.0);
    double scale = 0;
    for (double const each : values) scale += std::abs(each);
    // Computed in two halves, which needs 2^20 sums instead of 2^40.
    auto const half = values.size() / 2;
    auto const left = signed_sums(std::span(values).first(half));
    auto const right = signed_sums(std::span(values).subspan(half));
    double as_large = 0;
    for (double const each : left) {
        double const needed =
            seen - each - 1e-9 * scale;  // sums of equal patterns differ by rounding
        as_large += static_cast<double>(right.end() - std::ranges::lower_bound(right, needed));
    }
    return as_large / std::exp2(static_cast<double>(values.size()));
}

}  // namespace osora::db::analysis
