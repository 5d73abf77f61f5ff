// Pairs of runs that do not differ: no item is ever to blame.
#include "bench/bisect/simulated_runs.hpp"

#include <gtest/gtest.h>

namespace osora::db::analysis {
namespace {

struct Healthy {
    double outliers;
    bool knows_sigma;
};

class HealthyPair : public testing::TestWithParam<Healthy> {};

TEST_P(HealthyPair, IsNeverProved) {
    int not_reproducible = 0;
    for (unsigned seed = 1; seed <= 2000; ++seed) {
        bench::SimulatedRuns runs(
            {.cause = bench::Cause::none, .outliers = GetParam().outliers, .seed = seed});
        BisectOptions options;
        if (GetParam().knows_sigma) options.sigma_s = runs.history_sigma_s(options.sigma_runs);
        auto const result = bisect(runs.atoms(), options, [&](Trial const& trial) {
                                TrialOutcome outcome;
                                outcome.value_s = runs.run_s(trial.flipped);
                                return Result<TrialOutcome>(outcome);
                            }).value();
        EXPECT_NE(result.verdict, BisectVerdict::proved) << "seed " << seed;
        not_reproducible += result.verdict == BisectVerdict::not_reproducible;
    }
    EXPECT_GE(not_reproducible, 1980);
}

INSTANTIATE_TEST_SUITE_P(Bisect, HealthyPair,
                         testing::Values(Healthy{0, false}, Healthy{0, true}, Healthy{0.05, false},
                                         Healthy{0.05, true}));

}  // namespace
}  // namespace osora::db::analysis
