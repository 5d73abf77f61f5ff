// Sums are taken in the order in which NumPy takes them: between equal values the last bit decides
// which split is best and whether it is significant.
#include "db/analysis/changepoint/otava.hpp"

#include "base/check.hpp"
#include "db/analysis/changepoint/significance.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace osora::db::analysis::changepoint {
namespace {

using ValueSpan = std::span<double const>;

/// As numpy.add.reduce: eight running sums in blocks of 128, halves above.
double sum_of(ValueSpan values) {
    std::size_t const count = values.size();
    if (count > 128) {
        std::size_t const half = count / 2 - count / 2 % 8;
        return sum_of(values.first(half)) + sum_of(values.subspan(half));
    }
    double sum = 0;
    std::size_t const in_eights = count < 8 ? 0 : count - count % 8;
    if (in_eights > 0) {
        double lane[8] = {};
        for (std::size_t i = 0; i < in_eights; ++i) lane[i % 8] += values[i];
        sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
              ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    }
    for (std::size_t i = in_eights; i < count; ++i) sum += values[i];
    return sum;
}

struct Moments {
    double count = 0, mean = 0, variance = 0;  // variance over count, not count - 1
};
Moments moments_of(ValueSpan values) {
    Moments moments{.count = static_cast<double>(values.size())};
    moments.mean = sum_of(values) / moments.count;
    if (values.size() < 2) return moments;
    std::vector<double> squares;
    for (double const value : values) {
        squares.push_back((value - moments.mean) * (value - moments.mean));
    }
    double const deviation = std::sqrt(sum_of(squares) / moments.count);
    moments.variance = deviation * deviation;
    return moments;
}

/// Student's t test with equal variances between values[a, b) and values[b, c).
ChangePoint compared(ValueSpan values, int a, int b, int c) {
    auto const part = [&](int from, int to) {
        return moments_of(
            values.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from)));
    };
    Moments const left = part(a, b), right = part(b, c);
    ChangePoint point{
        .index = b, .before = left.mean, .after = right.mean, .p = 1, .lo = b, .hi = b};
    double const degrees = left.count + right.count - 2;
    if (degrees <= 0) return point;
    double const pooled =
        ((left.count - 1) * left.variance + (right.count - 1) * right.variance) / degrees;
    double const error = std::sqrt(pooled * (1 / left.count + 1 / right.count));
    point.p = student_t_p((left.mean - right.mean) / error, degrees);  // 0 / 0: NaN
    return point;
}

double magnitude(ChangePoint const& point) {
    double const forward = point.before == 0 ? 0 : point.after / point.before - 1;
    double const backward = point.after == 0 ? 0 : point.before / point.after - 1;
    return std::max(std::abs(forward), std::abs(backward));
}

struct Split {
    int index = -1;
    double gain = 0;  // E-divisive's Q
};

/// Distances within a window, and the best split of any part of it.
class Window {
public:
    explicit Window(ValueSpan values) : values_(values), count_(values.size()) {
        ahead_.resize(count_ * (count_ + 1), 0);
        for (std::size_t i = 0; i < count_; ++i) {
            double sum = 0;
            for (std::size_t j = i + 1; j < count_; ++j) {
                sum += distance(i, j);
                ahead_[i * (count_ + 1) + j + 1] = sum;
            }
        }
    }

    /// The split (tau, kappa) of [start, stop) with the largest Q; the first of equal ones. Q
    /// compares [start, tau) with [tau, kappa): what comes after kappa is left to later splits.
    [[nodiscard]] Split best_split(std::size_t start, std::size_t stop) const {
        auto const left_within = within_left(start, stop);
        std::vector<Split> best(stop - start - 1);  // over kappa, by tau
        for (std::size_t kappa = start + 2; kappa <= stop; ++kappa) {
            auto const gains = gains_up_to(start, kappa, left_within);
            for (std::size_t i = 0; i < gains.size(); ++i) {
                if (best[i].index >= 0 && !(gains[i] > best[i].gain)) continue;
                best[i] = {static_cast<int>(start + i + 1), gains[i]};
            }
        }
        Split found;
        for (auto const& each : best) {
            if (found.index < 0 || each.gain > found.gain) found = each;
        }
        return found;
    }

private:
    [[nodiscard]] double distance(std::size_t i, std::size_t j) const {
        return std::abs(values_[i] - values_[j]);
    }
    /// Sum of the distances of value i to those in (i, kappa).
    [[nodiscard]] double ahead(std::size_t i, std::size_t kappa) const {
        return ahead_[i * (count_ + 1) + kappa];
    }

    /// Element i: sum of the distances between all pairs of [start, start + i + 1): distances to
    /// all earlier values of the window, less those to values before `start`.
    [[nodiscard]] std::vector<double> within_left(std::size_t start, std::size_t stop) const {
        std::vector<double> sums{0};
        for (std::size_t tau = start + 1; tau < stop; ++tau) {
            double all = 0, before = 0;
            for (std::size_t i = 0; i < tau; ++i) all += distance(i, tau);
            for (std::size_t i = 0; i < start; ++i) before += distance(i, tau);
            sums.push_back(sums.back() + (all - before));
        }
        return sums;
    }

    /// Q of every tau in (start, kappa).
    [[nodiscard]] std::vector<double> gains_up_to(std::size_t start, std::size_t kappa,
                                                  std::vector<double> const& left_within) const {
        std::size_t const cuts = kappa - start - 1;
        std::vector<double> right_within(cuts + 1, 0);
        for (std::size_t i = cuts; i-- > 0;) {
            right_within[i] = right_within[i + 1] + ahead(start + i + 1, kappa);
        }
        std::vector<double> gains;
        double from_left = 0;
        for (std::size_t i = 0; i < cuts; ++i) {
            auto const n = static_cast<double>(i + 1), m = static_cast<double>(cuts - i);
            double const all = n + m;
            from_left += ahead(start + i, kappa);
            double gain = 2 / all * (from_left - left_within[i]);
            if (n > 1) gain -= 2 * m / (all * (n - 1)) * left_within[i];
            if (m > 1) gain -= 2 * n / (all * (m - 1)) * right_within[i];
            gains.push_back(gain);
        }
        return gains;
    }

    ValueSpan values_;
    std::size_t count_;
    std::vector<double> ahead_;  // (count, count + 1)
};

/// Splits values[start, stop) while the best split is significant.
std::vector<int> split_window(ValueSpan values, double max_p) {
    Window const window(values);
    int const count = static_cast<int>(values.size());
    std::vector<int> points;
    while (true) {
        Split best;
        Segment around;
        for (auto const& part : segments_between(points, count)) {
            if (part.size() < 2) continue;
            Split const split = window.best_split(static_cast<std::size_t>(part.start),
                                                  static_cast<std::size_t>(part.stop));
            if (best.index >= 0 && !(split.gain > best.gain)) continue;
            best = split;
            around = part;
        }
        if (best.index < 0) return points;
        double const p = compared(values, around.start, best.index, around.stop).p;
        if (!(p <= max_p)) return points;
        points.insert(std::ranges::lower_bound(points, best.index), best.index);
    }
}

double first_pass_p(double max_p) {
    if (max_p < 0.05) return max_p * 10;
    return max_p < 0.5 ? max_p * 2 : max_p;
}

std::vector<int> weak_points(ValueSpan values, OtavaOptions const& options) {
    int const count = static_cast<int>(values.size());
    double const max_p = first_pass_p(options.max_p);
    std::vector<int> points;
    for (int start = 0; start < count;) {
        int const stop = std::min(start + options.window, count);
        auto const found = split_window(
            values.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(stop - start)),
            max_p);
        for (int const each : found) points.push_back(start + each);
        int const last = found.empty() ? 0 : start + found.back();
        start = std::max(last, start + options.window / 2);
    }
    std::ranges::sort(points);
    points.erase(std::unique(points.begin(), points.end()), points.end());
    return points;
}

/// The figures of points[i] with its current neighbours; nothing after the last point.
void refresh(ValueSpan values, std::vector<ChangePoint>& points, std::size_t i) {
    if (i >= points.size()) return;
    int const start = i == 0 ? 0 : points[i - 1].index;
    int const stop = i + 1 < points.size() ? points[i + 1].index : static_cast<int>(values.size());
    points[i] = compared(values, start, points[i].index, stop);
}

/// The point to remove next; end: all stay. Comparisons with NaN are false, as in Otava: a NaN in
/// front is the weakest.
std::vector<ChangePoint>::iterator weakest(std::vector<ChangePoint>& points,
                                           OtavaOptions const& options) {
    auto found = points.begin();
    for (auto each = points.begin(); each != points.end(); ++each) {
        if (each->p > found->p) found = each;
    }
    if (found == points.end() || !(found->p < options.max_p)) return found;
    found = points.begin();
    for (auto each = points.begin(); each != points.end(); ++each) {
        if (magnitude(*each) < magnitude(*found)) found = each;
    }
    return magnitude(*found) > options.min_magnitude ? points.end() : found;
}

}  // namespace

std::vector<ChangePoint> otava_change_points(ValueSpan values, OtavaOptions const& options) {
    OSORA_CHECK_LE(2, options.window);
    std::vector<ChangePoint> points;
    for (int const index : weak_points(values, options)) {
        ChangePoint point;
        point.index = index;
        points.push_back(point);
    }
    for (std::size_t i = 0; i < points.size(); ++i) refresh(values, points, i);
    for (auto next = weakest(points, options); next != points.end();
         next = weakest(points, options)) {
        auto const at = static_cast<std::size_t>(next - points.begin());
        points.erase(next);
        // The previous point keeps the figures that it had with the removed one, as in Otava.
        refresh(values, points, at);
        refresh(values, points, at + 1);
    }
    for (std::size_t i = 0; i < points.size(); ++i) refresh(values, points, i);
    return points;
}

}  // namespace osora::db::analysis::changepoint
