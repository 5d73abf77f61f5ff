// Boost.Math has the distributions except that of U, whose counts come from the usual recurrence.
#include "db/analysis/changepoint/significance.hpp"

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace osora::db::analysis::changepoint {
namespace {

constexpr std::size_t kExactMax = 25;

struct RankSum {
    double u = 0;     // pairs in which the left value is larger; ties count half
    double ties = 0;  // sum of t^3 - t over groups of t equal values
};

RankSum rank_sum(std::span<double const> left, std::span<double const> right) {
    struct Ranked {
        double value;
        bool is_left;
    };
    std::vector<Ranked> all;
    for (double const value : left) all.push_back({value, true});
    for (double const value : right) all.push_back({value, false});
    std::ranges::sort(all, {}, &Ranked::value);
    RankSum sum;
    for (std::size_t i = 0; i < all.size();) {
        std::size_t stop = i, lefts = 0;
        for (; stop < all.size() && all[stop].value == all[i].value; ++stop) {
            lefts += all[stop].is_left;
        }
        auto const equal = static_cast<double>(stop - i);
        double const rank = static_cast<double>(i) + (equal + 1) / 2;
        sum.u += rank * static_cast<double>(lefts);
        sum.ties += equal * equal * equal - equal;
        i = stop;
    }
    auto const n = static_cast<double>(left.size());
    sum.u -= n * (n + 1) / 2;
    return sum;
}

/// P(U <= u) when all orders of n and m values are equally likely.
double exact_lower_tail(std::size_t n, std::size_t m, double u) {
    // ways[i][k]: orders of i left values among the right ones so far with U = k.
    std::vector<std::vector<double>> ways(n + 1, std::vector<double>(n * m + 1, 0));
    ways[0][0] = 1;
    for (std::size_t j = 0; j <= m; ++j) {
        for (std::size_t i = 1; i <= n; ++i) {
            // The largest value is a left one, above j right ones: it adds j.
            for (std::size_t k = j; k <= n * m; ++k) ways[i][k] += ways[i - 1][k - j];
        }
    }
    double below = 0, all = 0;
    for (std::size_t k = 0; k <= n * m; ++k) {
        all += ways[n][k];
        if (static_cast<double>(k) <= u) below += ways[n][k];
    }
    return below / all;
}

}  // namespace

double student_t_p(double t, double degrees) {
    if (std::isnan(t)) return t;
    if (std::isinf(t)) return 0;
    boost::math::students_t const distribution(degrees);
    return 2 * boost::math::cdf(boost::math::complement(distribution, std::abs(t)));
}

double mann_whitney_p(std::span<double const> left, std::span<double const> right) {
    if (left.empty() || right.empty()) return std::numeric_limits<double>::quiet_NaN();
    auto const [u, ties] = rank_sum(left, right);
    auto const n = static_cast<double>(left.size()), m = static_cast<double>(right.size());
    double const u_low = std::min(u, n * m - u);
    if (ties == 0 && std::max(left.size(), right.size()) <= kExactMax) {
        return std::min(1.0, 2 * exact_lower_tail(left.size(), right.size(), u_low));
    }
    double const all = n + m;
    double const variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
    if (variance <= 0) return 1;
    double const z = std::max(0.0, n * m / 2 - u_low - 0.5) / std::sqrt(variance);
    return 2 * boost::math::cdf(boost::math::complement(boost::math::normal(), z));
}

double p_of_best(double p, int splits) {
    double const bound = p * splits;
    return bound > 1 ? 1 : bound;
}

}  // namespace osora::db::analysis::changepoint
