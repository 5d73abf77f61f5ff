// Against generated times, with a rank that is slow by a known amount, and without one.
#include "protocol/steps/straggler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace osora::protocol {
namespace {

/// Own work of each rank in each step, as a chunk of one node reduces it.
ArrivalRow row(std::vector<double> const& own_s, double step_s) {
    ArrivalRow result;
    auto const latest = std::max_element(own_s.begin(), own_s.end());
    double sum = 0;
    for (double const each : own_s) sum += each;
    int const ranks = static_cast<int>(own_s.size());
    result.arrivals = {sum / ranks, *latest, static_cast<int>(latest - own_s.begin()), ranks};
    result.ranks = ranks;
    result.step_time_s = step_s;
    return result;
}

std::vector<ArrivalRow> made(int ranks, int slow, double extra_s, int steps) {
    std::mt19937 random(static_cast<unsigned>(7 + ranks));
    std::normal_distribution<double> noise(0, 0.005);
    std::vector<ArrivalRow> rows;
    for (int step = 0; step < steps; ++step) {
        std::vector<double> own(static_cast<std::size_t>(ranks));
        for (double& each : own) each = 1 + noise(random);
        if (slow >= 0) own[static_cast<std::size_t>(slow)] += extra_s;
        rows.push_back(row(own, 1.5));
    }
    return rows;
}

TEST(Straggler, IsFoundWithHowLateItIs) {
    for (int const ranks : {2, 8, 64}) {
        auto const found = find_straggler(made(ranks, 1, 0.3, 40));
        ASSERT_TRUE(found.has_value()) << ranks;
        EXPECT_EQ(found->rank, 1);
        EXPECT_NEAR(found->late_s, 0.3, 0.01);
        EXPECT_NEAR(found->share, 0.2, 0.01);
        EXPECT_EQ(found->steps, 40);
        EXPECT_EQ(found->of_steps, 40);
    }
}

TEST(Straggler, NoiseIsNobodysFault) {
    for (int const ranks : {2, 3, 8, 64}) {
        EXPECT_FALSE(find_straggler(made(ranks, -1, 0, 50)).has_value()) << ranks;
    }
    EXPECT_FALSE(find_straggler(made(8, 1, 0.3, kStragglerSteps - 1)).has_value()) << "too few";
    EXPECT_FALSE(find_straggler(made(8, 1, 0.05, 50)).has_value()) << "too little";
    EXPECT_FALSE(find_straggler({}).has_value());
}

TEST(Straggler, NodesAreMergedIntoOneRow) {
    Arrivals all = row({1.0, 1.2}, 2).arrivals;
    Arrivals other = row({1.1, 1.5, 0.9}, 2).arrivals;
    other.latest_rank = 3;
    merge(all, other);
    EXPECT_EQ(all.ranks, 5);
    EXPECT_EQ(all.latest_rank, 3);
    EXPECT_DOUBLE_EQ(all.latest_s, 1.5);
    EXPECT_NEAR(all.mean_s, (1.0 + 1.2 + 1.1 + 1.5 + 0.9) / 5, 1e-12);
    Arrivals none = arrivals_of(MergedSteps{}, 0);
    merge(all, none);
    EXPECT_EQ(all.ranks, 5);
    merge(none, all);
    EXPECT_EQ(none.latest_rank, 3);
}

TEST(Straggler, DamagedStepsNameNobody) {
    MergedSteps steps;
    steps.ranks = {2};
    steps.columns["arrival_s"] = {{1.0}, {0.5}, {2.0}, {}};
    EXPECT_EQ(arrivals_of(steps, 0).ranks, 0);
    steps.columns["arrival_s"].argmax = {1};
    EXPECT_EQ(arrivals_of(steps, 0).latest_rank, 1);
    EXPECT_EQ(arrivals_of(steps, 1).ranks, 0);
    steps.ranks.clear();
    EXPECT_EQ(arrivals_of(steps, 0).ranks, 0);
}

}  // namespace
}  // namespace osora::protocol
