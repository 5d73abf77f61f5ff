// The reference detectors against what Otava and Perfherder themselves answer.
#include "base/files/files.hpp"
#include "db/analysis/changepoint/mozilla.hpp"
#include "db/analysis/changepoint/otava.hpp"
#include "protocol/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace osora::db::analysis::changepoint {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct TigerbeetleCase {
    int window = 0;
    double max_p = 0, min_magnitude = 0;
    std::vector<int> expected;
};
struct Tigerbeetle {
    std::vector<double> series;
    std::vector<TigerbeetleCase> cases;
};
BOOST_DESCRIBE_STRUCT(TigerbeetleCase, (), (window, max_p, min_magnitude, expected))
BOOST_DESCRIBE_STRUCT(Tigerbeetle, (), (series, cases))

std::vector<int> indices(std::vector<ChangePoint> const& points) {
    std::vector<int> indices;
    for (auto const& each : points) indices.push_back(each.index);
    return indices;
}

/// `before` values of 0 and then `after` values of 1.
std::vector<double> step(int before, int after) {
    std::vector<double> values(static_cast<std::size_t>(before), 0);
    values.insert(values.end(), static_cast<std::size_t>(after), 1);
    return values;
}

TEST(Otava, FindsWhatOtavaFindsInTigerbeetle) {
    auto const text = read_file(std::string(OSORA_CHANGEPOINT_DATA) + "/tigerbeetle.json");
    ASSERT_TRUE(text.has_value()) << text.error().message;
    auto const data = protocol::decode<Tigerbeetle>(*text);
    ASSERT_TRUE(data.has_value()) << data.error().message;
    ASSERT_EQ(data->series.size(), 365u);
    ASSERT_EQ(data->cases.size(), 10u);
    for (auto const& each : data->cases) {
        auto const points =
            otava_change_points(data->series, {each.window, each.max_p, each.min_magnitude});
        EXPECT_EQ(indices(points), each.expected) << "p " << each.max_p;
    }
}

// Series and answers of Otava's own tests (analysis_test.py, series_test.py).
TEST(Otava, FindsWhatItsOwnTestsExpect) {
    std::vector<double> const halved{1.02, 0.95, 0.99, 1.00, 1.12, 1.00, 1.01, 0.98, 1.01, 0.96,
                                     0.50, 0.51, 0.48, 0.48, 0.55, 0.50, 0.49, 0.51, 0.50, 0.49};
    EXPECT_THAT(indices(otava_change_points(halved, {.window = 10, .max_p = 0.0001})),
                ElementsAre(10));
    std::vector<double> const first{1.02, 0.95, 0.99, 1.00, 1.12, 0.90,
                                    0.50, 0.51, 0.48, 0.48, 0.55};
    std::vector<double> const second{2.02, 2.03, 2.01, 2.04, 1.82, 1.85,
                                     1.79, 1.81, 1.80, 1.76, 1.78};
    std::vector<double> const zeros{0.0, 0.0, 0.0, 1.00, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55};
    EXPECT_THAT(indices(otava_change_points(first)), ElementsAre(6));
    EXPECT_THAT(indices(otava_change_points(second)), ElementsAre(4));
    EXPECT_THAT(indices(otava_change_points(zeros)), ElementsAre(3, 6));
    EXPECT_THAT(indices(otava_change_points(first, {.min_magnitude = 0.2})), ElementsAre(6));
    EXPECT_THAT(indices(otava_change_points(second, {.min_magnitude = 0.2})), IsEmpty());
}

TEST(Otava, EdgesAreWhereOtavaHasThem) {
    EXPECT_THAT(otava_change_points({}), IsEmpty());
    EXPECT_THAT(otava_change_points(std::vector<double>{1}), IsEmpty());
    EXPECT_THAT(otava_change_points(std::vector<double>{1, 2}), IsEmpty());  // p is 1 for 1 and 1
    EXPECT_THAT(otava_change_points(std::vector<double>(200, 0.1)), IsEmpty());
    auto const points = otava_change_points(step(60, 60));
    ASSERT_THAT(indices(points), ElementsAre(60));
    EXPECT_EQ(points[0].p, 0);  // no variance, other means
    EXPECT_EQ(points[0].before, 0);
    EXPECT_EQ(points[0].after, 1);
    // 1 against 2, 3: biased deviation 0.5, t = -1.5 / sqrt(0.25 * 1.5), 1 degree of freedom.
    auto const three = otava_change_points(std::vector<double>{1, 2, 3}, {.max_p = 0.9});
    ASSERT_THAT(indices(three), ElementsAre(1));
    EXPECT_NEAR(three[0].p, 1 - 2 / M_PI * std::atan(1.5 / std::sqrt(0.375)), 1e-12);
    // A point whose p is the limit exactly goes; and so does one of the least magnitude exactly.
    EXPECT_THAT(otava_change_points(std::vector<double>{1, 2, 3}, {.max_p = three[0].p}),
                IsEmpty());
    EXPECT_THAT(otava_change_points(std::vector<double>{4, 4, 4, 8, 8, 8}, {.min_magnitude = 1}),
                IsEmpty());
    EXPECT_THAT(indices(otava_change_points(std::vector<double>{4, 4, 4, 8, 8, 8},
                                            {.min_magnitude = 0.99})),
                ElementsAre(3));
}

// Otava's Q by its formula, sum by sum: the first of equal maxima.
int best_tau(std::vector<double> const& z) {
    auto const n = static_cast<int>(z.size());
    auto const distance = [&](int i, int j) {
        return std::abs(z[static_cast<std::size_t>(i)] - z[static_cast<std::size_t>(j)]);
    };
    int best = -1;
    double best_q = 0;
    for (int tau = 1; tau < n; ++tau) {
        for (int kappa = tau + 1; kappa <= n; ++kappa) {
            double between = 0, left = 0, right = 0;
            for (int i = 0; i < tau; ++i) {
                for (int j = tau; j < kappa; ++j) between += distance(i, j);
                for (int j = i + 1; j < tau; ++j) left += distance(i, j);
            }
            for (int i = tau; i < kappa; ++i) {
                for (int j = i + 1; j < kappa; ++j) right += distance(i, j);
            }
            double const a = tau, b = kappa - tau;
            double q = 2 / (a + b) * between;
            if (a > 1) q -= 2 * b / (a + b) / (a - 1) * left;
            if (b > 1) q -= 2 * a / (a + b) / (b - 1) * right;
            if (best < 0 || q > best_q + 1e-9) best = tau, best_q = q;
        }
    }
    return best;
}

TEST(Otava, SplitsWhereTheFormulaIsLargest) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    for (int round = 0; round < 50; ++round) {
        std::vector<double> values;
        for (int i = 0; i < 20; ++i) values.push_back(normal(random) + (i >= 12 ? 40 : 0));
        // With so large a step the first split is the one significant at any level.
        auto const points = otava_change_points(values, {.window = 20, .max_p = 1e-12});
        ASSERT_THAT(indices(points), ElementsAre(12));
        EXPECT_EQ(best_tau(values), 12);
    }
}

TEST(Mozilla, FindsWhatItsOwnTestsExpect) {
    MozillaOptions const options{.back_min = 5, .back_max = 5, .fore = 5, .t_limit = 2};
    EXPECT_THAT(indices(mozilla_change_points(step(8, 8), options)), ElementsAre(8));
}

// t is above the threshold at several values beside a step; its largest is the change.
TEST(Mozilla, OnlyTheLargestTIsAChange) {
    auto values = step(30, 30);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.02 * static_cast<double>(i % 3);
    EXPECT_THAT(indices(mozilla_change_points(values)), ElementsAre(30));
}

TEST(Mozilla, NeedsItsWindows) {
    EXPECT_THAT(mozilla_change_points({}), IsEmpty());
    EXPECT_THAT(mozilla_change_points(std::vector<double>(100, 0.1)), IsEmpty());
    EXPECT_THAT(indices(mozilla_change_points(step(12, 12))), ElementsAre(12));
    EXPECT_THAT(mozilla_change_points(step(11, 12)), IsEmpty());
    EXPECT_THAT(mozilla_change_points(step(12, 11)), IsEmpty());
    auto const points = mozilla_change_points(step(30, 30));
    ASSERT_THAT(indices(points), ElementsAre(30));
    EXPECT_EQ(points[0].before, 0);
    EXPECT_EQ(points[0].after, 1);
    EXPECT_EQ(points[0].p, 0);
    EXPECT_THAT(mozilla_change_points(step(30, 30), {.min_effect = 0.02}), testing::SizeIs(1));
}

// Back 0, 0, 0 and fore 4, 2, 1 with weights 1, 2/3, 1/3: means 0 and 17/6.
TEST(Mozilla, TIsWeighted) {
    std::vector<double> const values{0, 0, 0, 4, 2, 1};
    double const mean = 17.0 / 6;
    double const squares = std::pow(1 - mean, 2) + std::pow(2 - mean, 2) + std::pow(4 - mean, 2);
    double const t = mean / std::sqrt(squares / 2 / 3);
    MozillaOptions options{.back_min = 3, .back_max = 3, .fore = 3, .t_limit = t - 1e-9};
    EXPECT_THAT(indices(mozilla_change_points(values, options)), ElementsAre(3));
    options.t_limit = t + 1e-9;
    EXPECT_THAT(mozilla_change_points(values, options), IsEmpty());
}

}  // namespace
}  // namespace osora::db::analysis::changepoint
