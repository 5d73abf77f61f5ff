#include "db/analysis/bisect/bisect.hpp"
#include "bench/bisect/simulated_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace osora::db::analysis {
namespace {

using bench::Cause;
using bench::SimulatedPair;
using bench::SimulatedRuns;

Measure measured_by(SimulatedRuns& runs) {
    return [&runs](Trial const& trial) {
        TrialOutcome outcome;
        outcome.value_s = runs.run_s(trial.flipped);
        outcome.cost_gpu_s = 100;
        return Result<TrialOutcome>(outcome);
    };
}

std::vector<int> found_by(BisectResult const& result) {
    std::vector<int> found;
    for (auto const& culprit : result.culprits) {
        found.insert(found.end(), culprit.atoms.begin(), culprit.atoms.end());
    }
    std::ranges::sort(found);
    return found;
}

struct Case {
    Cause cause;
    Relation relation;
    double trials_max;  // mean over the repeats
};

class OfOneKind : public testing::TestWithParam<Case> {};

// The levels, the noise and the seeds are the simulator's: d = 30, 32 items.
TEST_P(OfOneKind, IsFoundAndProved) {
    constexpr int kRepeats = 100;
    double trials = 0;
    for (int i = 0; i < kRepeats; ++i) {
        SimulatedPair pair{.cause = GetParam().cause, .seed = 1000 + static_cast<unsigned>(i)};
        SimulatedRuns runs(pair);
        BisectOptions options;
        options.sigma_s = runs.history_sigma_s(options.sigma_runs);
        auto const result = bisect(runs.atoms(), options, measured_by(runs)).value();
        EXPECT_EQ(found_by(result), runs.culprits()) << "seed " << pair.seed;
        EXPECT_EQ(result.verdict, BisectVerdict::proved) << "seed " << pair.seed;
        EXPECT_EQ(result.relation, GetParam().relation) << "seed " << pair.seed;
        EXPECT_LE(result.proof.p, 0.05);
        EXPECT_NEAR(result.explained, 1, 0.2);
        EXPECT_NEAR(result.proof.added.value_s, 7, 1.2);
        EXPECT_GT(result.d, 15);  // sigma of 20 runs
        EXPECT_EQ(result.cost_gpu_s, 100.0 * static_cast<double>(result.trials.size()));
        trials += static_cast<double>(result.trials.size()) / kRepeats;
    }
    EXPECT_LE(trials, GetParam().trials_max);
}

INSTANTIATE_TEST_SUITE_P(Bisect, OfOneKind,
                         testing::Values(Case{Cause::single, Relation::single, 18},
                                         Case{Cause::both, Relation::both, 28},
                                         Case{Cause::either, Relation::either, 33},
                                         Case{Cause::additive, Relation::additive, 33},
                                         Case{Cause::both3, Relation::both, 40},
                                         Case{Cause::either3, Relation::either, 45},
                                         Case{Cause::additive3, Relation::additive, 50}));

// Without noise the shares are those that the levels were made of.
TEST(Bisect, SharesOfAdditiveCulprits) {
    auto const measure = [](Trial const& trial) {
        TrialOutcome outcome;
        outcome.value_s = 7 + (trial.flipped[1] ? 4.2 : 0) + (trial.flipped[4] ? 2.8 : 0);
        return Result<TrialOutcome>(outcome);
    };
    auto const result = bisect(std::vector<FactorGroup>(6), {}, measure).value();
    ASSERT_EQ(result.culprits.size(), 2u);
    EXPECT_EQ(result.culprits[0].atoms, std::vector<int>{1});
    EXPECT_NEAR(result.culprits[0].share, 0.6, 1e-9);
    EXPECT_NEAR(result.culprits[1].share, 0.4, 1e-9);
    EXPECT_NEAR(result.explained, 1, 1e-9);
    EXPECT_EQ(result.good_s, 7);
    EXPECT_EQ(result.bad_s, 14);
}

TEST(Bisect, OneAtomOnlyIsProvedByTheBaselines) {
    SimulatedRuns runs({.factors = 1});
    auto const result = bisect(runs.atoms(), {}, measured_by(runs)).value();
    EXPECT_EQ(result.verdict, BisectVerdict::proved);
    EXPECT_EQ(static_cast<int>(result.trials.size()), expected_trials(runs.atoms(), {}));
    EXPECT_EQ(result.proof.p, 1.0 / 32);
}

TEST(Bisect, SuspectsAreTriedFirst) {
    double informed = 0, blind = 0;
    for (unsigned seed = 1; seed <= 100; ++seed) {
        SimulatedRuns runs({.factors = 64, .seed = seed}), again({.factors = 64, .seed = seed});
        auto atoms = runs.atoms();
        blind += static_cast<double>(bisect(atoms, {}, measured_by(runs))->trials.size());
        atoms[static_cast<std::size_t>(runs.culprits()[0])].prior = 1000;
        informed += static_cast<double>(bisect(atoms, {}, measured_by(again))->trials.size());
    }
    EXPECT_LT(informed / 100 + 3, blind / 100);
}

TEST(Bisect, ExpectedTrialsAreThoseOfTheSimulator) {
    for (int const factors : {8, 32, 60}) {
        double trials = 0;
        std::vector<FactorGroup> atoms;
        for (unsigned seed = 1; seed <= 100; ++seed) {
            SimulatedRuns runs({.factors = factors, .seed = seed});
            atoms = runs.atoms();
            BisectOptions options;
            options.sigma_s = bench::kSimulatedSigmaS;
            trials += static_cast<double>(bisect(atoms, options, measured_by(runs))->trials.size());
        }
        EXPECT_NEAR(trials / 100, expected_trials(atoms, {}), 1) << factors;
    }
}

TEST(Bisect, EqualPartsOfAllItemsAreBelowTheResolution) {
    SimulatedRuns runs({.cause = Cause::scattered});
    auto const result = bisect(runs.atoms(), {}, measured_by(runs)).value();
    EXPECT_EQ(result.verdict, BisectVerdict::below_resolution);
    EXPECT_TRUE(result.culprits.empty());
    EXPECT_FALSE(result.reasons.empty());
}

TEST(Bisect, ASmallGapIsBelowTheResolutionOrNotReproduced) {
    int below = 0, wrong = 0;
    for (unsigned seed = 1; seed <= 200; ++seed) {
        SimulatedRuns runs({.cause = Cause::tiny, .seed = seed});
        BisectOptions options;
        options.sigma_s = bench::kSimulatedSigmaS;
        auto const result = bisect(runs.atoms(), options, measured_by(runs)).value();
        below += result.verdict == BisectVerdict::below_resolution;
        wrong += result.verdict == BisectVerdict::proved && found_by(result) != runs.culprits();
    }
    EXPECT_GT(below, 80);
    EXPECT_LE(wrong, 3);
}

TEST(Bisect, AHybridBetterThanGoodOrWorseThanBadIsNoHindrance) {
    // 3 makes it slow; 1 alone is better than good; 5 with 3 is worse than bad, until 6 heals it.
    auto const measure = [](Trial const& trial) {
        auto const& f = trial.flipped;
        TrialOutcome outcome;
        outcome.value_s =
            7.0 + (f[3] ? 7 : 0) - (f[1] && !f[2] ? 3 : 0) + (f[5] && f[3] && !f[6] ? 9 : 0);
        return Result<TrialOutcome>(outcome);
    };
    auto const result = bisect(std::vector<FactorGroup>(8), {}, measure).value();
    EXPECT_EQ(found_by(result), std::vector<int>{3});
    EXPECT_EQ(result.verdict, BisectVerdict::proved);
}

TEST(Bisect, EveryTrialSaysWhatItDecides) {
    for (auto const cause : {Cause::single, Cause::both, Cause::either, Cause::additive3}) {
        SimulatedRuns runs({.cause = cause, .d = 8, .outliers = 0.05, .seed = 3});
        std::size_t reported = 0;
        auto const result = bisect(runs.atoms(), {}, measured_by(runs), [&](TrialRecord const& r) {
                                reported += 1;
                                EXPECT_EQ(r.trial.seq, static_cast<int>(reported));
                                EXPECT_FALSE(r.decision.empty());
                            }).value();
        EXPECT_EQ(reported, result.trials.size());
    }
}

TEST(Bisect, RefusesBadOptions) {
    SimulatedRuns runs({});
    auto const fails = [&](auto change) {
        BisectOptions options;
        change(options);
        auto const result = bisect(runs.atoms(), options, measured_by(runs));
        return result.has_error() && result.error().code == Errc::invalid_input;
    };
    EXPECT_TRUE(fails([](auto& o) { o.sigma_s = 0; }));
    EXPECT_TRUE(fails([](auto& o) { o.sigma_s = INFINITY; }));
    EXPECT_TRUE(fails([](auto& o) { o.min_effect = NAN; }));
    EXPECT_TRUE(fails([](auto& o) { o.baseline_trials = 1; }));
    EXPECT_TRUE(fails([](auto& o) { o.trials_max = 0; }));
    EXPECT_TRUE(fails([](auto& o) { o.budget_gpu_s = NAN; }));
    EXPECT_TRUE(fails([](auto& o) { o.sigma_floor = 0; }));
    EXPECT_TRUE(bisect({}, {}, measured_by(runs)).has_error());
    EXPECT_TRUE(bisect({{"a", {0}, NAN}}, {}, measured_by(runs)).has_error());
}

}  // namespace
}  // namespace osora::db::analysis
