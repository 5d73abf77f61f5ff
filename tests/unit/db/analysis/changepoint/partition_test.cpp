// The pruned partition against all partitions.
#include "db/analysis/changepoint/partition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace osora::db::analysis::changepoint {
namespace {

using Values = std::vector<double>;

double cost_of(Values const& values, std::vector<int> cuts, PartitionOptions const& options) {
    double cost = options.penalty * static_cast<double>(cuts.size());
    std::size_t start = 0;
    cuts.push_back(static_cast<int>(values.size()));
    for (int const stop : cuts) {
        auto const end = static_cast<std::size_t>(stop);
        cost += segment_cost(std::span(values).subspan(start, end - start), options.clip);
        start = end;
    }
    return cost;
}

/// The least cost of any partition, by dynamic programming over all last segments.
double least_cost(Values const& values, PartitionOptions const& options) {
    auto const shortest = static_cast<std::size_t>(options.min_segment);
    Values best(values.size() + 1, std::numeric_limits<double>::infinity());
    best[0] = -options.penalty;
    for (std::size_t end = shortest; end < best.size(); ++end) {
        for (std::size_t start = 0; start + shortest <= end; ++start) {
            auto const own = std::span(values).subspan(start, end - start);
            best[end] = std::min(best[end],
                                 best[start] + options.penalty + segment_cost(own, options.clip));
        }
    }
    return best.back();
}

TEST(Partition, CostsNoMoreThanAnyOther) {
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    for (int round = 0; round < 300; ++round) {
        Values values(6 + random() % 50);
        double level = 0;
        for (double& value : values) {
            if (uniform(random) < 0.07) level += 6 * normal(random);
            value = level + normal(random);
            if (uniform(random) < 0.1) value += 20 * uniform(random);
            if (round % 5 == 0) value = std::round(value);  // ties
        }
        PartitionOptions const options{.clip = 1 + 3 * uniform(random),
                                       .penalty = 2 + 12 * uniform(random),
                                       .min_segment = 1 + static_cast<int>(random() % 4)};
        double const cost = cost_of(values, partition(values, options), options);
        double const least = least_cost(values, options);
        ASSERT_NEAR(cost, least, 1e-9 * std::abs(least) + 1e-9) << "round " << round;
    }
}

TEST(Partition, CutsStepsAndNotSpikes) {
    Values values(20, 0);
    for (std::size_t i = 10; i < 20; ++i) values[i] = 10;
    EXPECT_THAT(partition(values, {}), testing::ElementsAre(10));
    values[4] = 1000;
    EXPECT_THAT(partition(values, {}), testing::ElementsAre(10));
    EXPECT_THAT(partition(Values(20, 3.5), {}), testing::IsEmpty());
    EXPECT_THAT(partition(Values{0, 0, 0, 9, 9}, {}), testing::IsEmpty());  // 3 and 3 are needed
    EXPECT_THAT(partition({}, {}), testing::IsEmpty());
}

// All pairs of places would be 5,000 a value; the time is measured by bench/analysis.
TEST(Partition, LooksAtFewPiecesAValue) {
    std::mt19937_64 random(2);
    std::normal_distribution<double> normal;
    Values values(10'000);
    double state = 0;
    for (double& value : values) value = state = 0.5 * state + normal(random);
    std::int64_t work = 0;
    EXPECT_LT(changepoint::partition(values, {.penalty = 30}, &work).size(), 100u);
    EXPECT_LT(work, 500 * std::ssize(values));
}

}  // namespace
}  // namespace osora::db::analysis::changepoint
