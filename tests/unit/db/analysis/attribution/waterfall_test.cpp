// Seconds of causes that are known, sums that must hold, and what noise must not do.
#include "db/analysis/attribution/waterfall.hpp"
#include "tests/unit/db/analysis/attribution/step_tables.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace osora::db::analysis::test {
namespace {

Waterfall between(MadeRun const& a, MadeRun const& b) {
    auto const left = steps_of(a), right = steps_of(b);
    return waterfall({{&left}}, {{&right}});
}

double gap_of(Waterfall const& found, std::string const& key) {
    for (auto const& row : found.rows) {
        if (row.key == key) return row.gap_s;
    }
    return 0;
}

/// All of the gap is in this row.
void expect_only(Waterfall const& found, std::string const& key, double seconds) {
    EXPECT_NEAR(found.gap_s, seconds, 1e-9);
    for (auto const& row : found.rows) {
        if (row.key == "work") continue;
        EXPECT_NEAR(row.gap_s, row.key == key ? seconds : 0, 1e-9) << row.key;
    }
}

MadeRun noisy(std::uint64_t seed, int ranks = 5) {
    MadeRun run;
    run.ranks = ranks;
    auto random = std::make_shared<std::mt19937_64>(seed);
    auto const real = [random] {
        return std::uniform_real_distribution<double>(0.5, 1.5)(*random);
    };
    run.bucket = [random](int) { return (*random)() % 3 == 0 ? "64x64x1" : "64x64x8"; };
    run.rank_step = [real](int, int) {
        return RankStep{0.1 * real(), real(), 2 * real(), 0.5, 0.25, 0.05, 0};
    };
    return run;
}

TEST(StepParts, AddUpToEveryStep) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        auto const table = steps_of(noisy(seed));
        auto const steps = step_parts(table);
        ASSERT_EQ(steps.size(), 100u);
        for (auto const& step : steps) {
            double sum = 0;
            for (double const part : step.s) sum += part;
            EXPECT_NEAR(sum, step.step_s, 1e-12);
            EXPECT_NEAR(step[Part::residual], 0, 1e-12) << "every second was made by a phase";
            for (std::size_t i = 0; i + 1 < kParts; ++i) EXPECT_GE(step.s[i], 0) << i;
        }
        EXPECT_LT(residual_share(steps), 1e-9);
    }
}

TEST(StepParts, TimeOutsideAllPhasesIsNotExplained) {
    MadeRun run;
    run.rank_step = [](int, int) {
        RankStep step;
        step.unexplained_s = 0.1;
        return step;
    };
    auto const table = steps_of(run);
    EXPECT_NEAR(residual_share(step_parts(table)), 0.1 / 3.9, 1e-9);
    EXPECT_FALSE(waterfall({{&table}}, {{&table}}).attributable());
    StepTable bare = table;
    bare.columns.clear();
    EXPECT_TRUE(step_parts(bare).empty());
    bare.columns["step_time_s"] = table.columns.at("step_time_s");
    EXPECT_NEAR(residual_share(step_parts(bare)), 1, 1e-12);
}

TEST(Waterfall, AddsUpExactly) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        auto b = noisy(seed + 100, 1 + static_cast<int>(seed % 7));
        if (seed % 2 == 0) b.samples_per_rank = 3;
        auto const found = between(noisy(seed), b);
        ASSERT_TRUE(found.enough() && found.standardised);
        double sum = 0;
        for (auto const& row : found.rows) {
            sum += row.gap_s;
            EXPECT_LE(row.interval.low, row.interval.high);
        }
        EXPECT_NEAR(sum, found.b_s - found.a_s, 1e-12);
        EXPECT_NEAR(found.gap_s + found.work_s, found.b_s - found.a_s, 1e-12);
    }
}

TEST(Waterfall, ASideAgainstItselfHasNoGap) {
    auto const table = steps_of(noisy(4));
    auto const found = waterfall({{&table}}, {{&table}});
    for (auto const& row : found.rows) EXPECT_NEAR(row.gap_s, 0, 1e-12) << row.key;
    EXPECT_LT(found.interval.low, 0);
    EXPECT_GT(found.interval.high, 0);
}

TEST(Waterfall, ExposedCommunication) {
    MadeRun b;
    b.rank_step = [](int, int) {
        RankStep step;
        step.transfer_s = 3.25;
        return step;
    };
    auto const found = between({}, b);
    expect_only(found, "exposed_comm", 3);
    EXPECT_NEAR(found.interval.low, 3, 1e-9);
}

TEST(Waterfall, ARankThatWorksLonger) {
    MadeRun b;
    b.rank_step = [](int, int rank) {
        RankStep step;
        step.backward_s += rank == 2 ? 1 : 0;
        return step;
    };
    auto const found = between({}, b);
    // Its own work is a quarter of a second of the mean rank; three ranks of four wait.
    EXPECT_NEAR(found.gap_s, 1, 1e-9);
    EXPECT_NEAR(gap_of(found, "compute"), 0.25, 1e-9);
    EXPECT_NEAR(gap_of(found, "slower_rank"), 0.75, 1e-9);
}

TEST(Waterfall, ARankThatWaitsForItsData) {
    MadeRun b;
    b.rank_step = [](int, int rank) {
        RankStep step;
        step.data_wait_s = rank == 1 ? 2 : 0;
        return step;
    };
    auto const found = between({}, b);
    EXPECT_NEAR(gap_of(found, "loader"), 0.5, 1e-9);
    EXPECT_NEAR(gap_of(found, "wait_data"), 1.5, 1e-9);
    EXPECT_NEAR(gap_of(found, "slower_rank"), 0, 1e-9);
}

TEST(Waterfall, RanksThatTrainDifferentBuckets) {
    MadeRun b;
    b.bucket = [](int) { return "64x64x1+64x64x8"; };
    b.rank_step = [](int step, int rank) {
        RankStep each;
        each.forward_s = (step + rank) % 4 == 0 ? 3 : 1;
        return each;
    };
    auto const found = between({}, b);
    EXPECT_FALSE(found.standardised);
    EXPECT_NEAR(gap_of(found, "bucket_imbalance"), 1.5, 1e-9);
    EXPECT_NEAR(gap_of(found, "compute"), 0.5, 1e-9);
    EXPECT_NEAR(gap_of(found, "bucket_mix"), 0, 1e-9);
}

MadeRun two_buckets(int every, double slow_factor = 1) {
    MadeRun run;
    run.bucket = [every](int step) { return step % every == 0 ? "64x64x8" : "64x64x1"; };
    run.rank_step = [every, slow_factor](int step, int) {
        RankStep each;
        each.forward_s = step % every == 0 ? 4 * slow_factor : 1;
        return each;
    };
    return run;
}

// The same speed of both buckets, but the long one comes every second step instead of every fourth.
TEST(Waterfall, AnotherMixOfBucketsIsNoSlowerStep) {
    auto const found = between(two_buckets(4), two_buckets(2));
    expect_only(found, "bucket_mix", (0.5 - 0.25) * 3);
    EXPECT_TRUE(found.standardised);
}

TEST(Waterfall, ASlowerBucketCountsWithTheMixOfA) {
    auto const found = between(two_buckets(4), two_buckets(2, 1.5));
    EXPECT_NEAR(gap_of(found, "compute"), 0.25 * 2, 1e-9);
    EXPECT_NEAR(gap_of(found, "bucket_mix"), found.gap_s - 0.5, 1e-9);
}

// Strong scaling: four times the ranks, a quarter of the samples each.
TEST(Waterfall, StrongScalingIsBroughtToTheSameWork) {
    MadeRun one, four;
    one.ranks = 1;
    one.samples_per_rank = 32;
    one.rank_step = [](int, int) { return RankStep{0, 4, 8, 0.5, 0, 0.05, 0}; };
    four.samples_per_rank = 8;
    four.rank_step = [](int, int) { return RankStep{0, 1, 2, 0.5, 0.7, 0.05, 0}; };
    auto const found = between(one, four);
    EXPECT_NEAR(found.work_s, -9, 1e-9);
    expect_only(found, "exposed_comm", 0.7);
    EXPECT_EQ(found.rows.front().key, "work");
    EXPECT_TRUE(std::isnan(found.rows.front().of_gap));
}

TEST(Waterfall, OneStalledStepIsNoSlowerRun) {
    MadeRun b;
    b.rank_step = [](int step, int) {
        RankStep each;
        each.other_s = step == 70 ? 60 : 0.05;
        return each;
    };
    auto const found = between({}, b);
    EXPECT_GT(found.gap_s, 0.5);
    EXPECT_LE(found.interval.low, 1e-9) << "draws without that step have no gap";
}

TEST(Waterfall, IntervalsAreOverRunsWhenThereAreThree) {
    std::vector<StepTable> a, b;
    for (int run = 0; run < 3; ++run) {
        a.push_back(steps_of(noisy(static_cast<std::uint64_t>(run) + 1)));
        b.push_back(steps_of(noisy(static_cast<std::uint64_t>(run) + 11)));
    }
    Side const left{{&a[0], &a[1], &a[2]}}, right{{&b[0], &b[1], &b[2]}};
    EXPECT_EQ(waterfall(left, right).intervals, IntervalKind::over_runs);
    EXPECT_EQ(waterfall(left, {{&b[0], &b[1]}}).intervals, IntervalKind::within_run);
    EXPECT_EQ(waterfall(left, right).interval.low, waterfall(left, right).interval.low);
}

TEST(Waterfall, TooFewStepsSayNothing) {
    MadeRun few;
    few.steps = 11;  // three warm up
    auto const found = between({}, few);
    EXPECT_FALSE(found.enough());
    EXPECT_TRUE(found.rows.empty());
    EXPECT_FALSE(between(few, few).enough());
    EXPECT_FALSE(waterfall({{}}, {{}}).enough());
}

// The interval of a gap of steps that are independent holds the truth about as often as it says.
TEST(Waterfall, IntervalsHoldTheTruthAsOftenAsTheySay) {
    int held = 0;
    constexpr int kRuns = 100;
    for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
        MadeRun a = noisy(seed * 2, 1), b = noisy(seed * 2 + 1, 1);
        a.steps = b.steps = 420;
        auto const found = between(a, b);
        held += found.interval.low <= 0 && found.interval.high >= 0 ? 1 : 0;
    }
    EXPECT_GE(held, 88);
}

}  // namespace
}  // namespace osora::db::analysis::test
