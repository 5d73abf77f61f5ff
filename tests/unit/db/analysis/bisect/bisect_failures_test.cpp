// Trials that do not start or end, budgets, and searches that are taken up again.
#include "bench/bisect/simulated_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace osora::db::analysis {
namespace {

using bench::Cause;
using bench::SimulatedRuns;

TrialOutcome value(double value_s) {
    TrialOutcome outcome;
    outcome.value_s = value_s;
    outcome.cost_gpu_s = 60;
    return outcome;
}

TrialOutcome failure(TrialStatus status) {
    TrialOutcome outcome;
    outcome.status = status;
    outcome.cost_gpu_s = 10;
    return outcome;
}

Measure fallible(SimulatedRuns& runs, auto starts) {
    return [&runs, starts](Trial const& trial) -> Result<TrialOutcome> {
        if (!starts(trial.flipped)) return failure(TrialStatus::cannot_start);
        return value(runs.run_s(trial.flipped));
    };
}

// 4 and 20 only start together, as NCCL and the CUDA that it was built for.
TEST(BisectFailures, AtomsThatOnlyStartTogetherAreOneStep) {
    for (unsigned seed = 1; seed <= 50; ++seed) {
        SimulatedRuns runs({.seed = seed});
        auto const together = [](auto const& flipped) { return flipped[4] == flipped[20]; };
        auto const result = bisect(runs.atoms(), {}, fallible(runs, together)).value();
        int const culprit = runs.culprits()[0];
        EXPECT_EQ(result.verdict, BisectVerdict::proved) << "seed " << seed;
        ASSERT_EQ(result.culprits.size(), 1u) << "seed " << seed;
        if (culprit == 4 || culprit == 20) {
            EXPECT_EQ(result.culprits[0].atoms, (std::vector<int>{4, 20}));
            EXPECT_FALSE(result.reasons.empty());
        } else {
            EXPECT_EQ(result.culprits[0].atoms, std::vector<int>{culprit}) << "seed " << seed;
        }
    }
}

// 20 needs 4 to start, while 4 starts alone.
TEST(BisectFailures, AnAtomThatNeedsAnotherToStart) {
    for (unsigned seed = 1; seed <= 50; ++seed) {
        SimulatedRuns runs({.seed = seed});
        auto const starts = [](auto const& flipped) { return flipped[4] || !flipped[20]; };
        auto const result = bisect(runs.atoms(), {}, fallible(runs, starts)).value();
        ASSERT_FALSE(result.culprits.empty()) << "seed " << seed;
        bool has_culprit = false;
        for (auto const& culprit : result.culprits) {
            has_culprit |= std::ranges::count(culprit.atoms, runs.culprits()[0]) > 0;
        }
        EXPECT_TRUE(has_culprit) << "seed " << seed;
        EXPECT_NE(result.verdict, BisectVerdict::below_resolution) << "seed " << seed;
    }
}

// What is necessary cannot be shown, so the answer does not claim it.
TEST(BisectFailures, WhereBadWithoutTheCulpritDoesNotStart) {
    SimulatedRuns runs({});
    auto const culprit = static_cast<std::size_t>(runs.culprits()[0]);
    auto const starts = [&](auto const& flipped) {
        return flipped[culprit] || std::ranges::count(flipped, true) < 31;
    };
    auto const result = bisect(runs.atoms(), {}, fallible(runs, starts)).value();
    EXPECT_EQ(result.verdict, BisectVerdict::sufficient);
    ASSERT_EQ(result.culprits.size(), 1u);
    EXPECT_EQ(result.culprits[0].atoms, runs.culprits());
    EXPECT_EQ(result.proof.p, 1.0 / 32);
    EXPECT_TRUE(std::isnan(result.proof.removed.value_s));
}

// The machine gets slower by a quarter of the gap while the search is under way: good's and bad's
// runs of before say nothing of it any more.
TEST(BisectFailures, AMachineThatChangesDoesNotMislead) {
    int proved = 0;
    for (unsigned seed = 1; seed <= 100; ++seed) {
        SimulatedRuns runs({.seed = seed});
        BisectOptions options;
        options.sigma_s = bench::kSimulatedSigmaS;
        int const changes_after = 4 + static_cast<int>(seed % 14);
        auto const result = bisect(runs.atoms(), options, [&](Trial const& trial) {
                                double const drift = trial.seq > changes_after ? 1.75 : 0;
                                double const run_s = runs.run_s(trial.flipped) + drift;
                                return Result<TrialOutcome>(value(run_s));
                            }).value();
        if (result.verdict != BisectVerdict::proved) continue;
        proved += 1;
        ASSERT_EQ(result.culprits.size(), 1u) << "seed " << seed;
        EXPECT_EQ(result.culprits[0].atoms, runs.culprits()) << "seed " << seed;
        EXPECT_NEAR(result.proof.added.value_s, 7, 1.9) << "seed " << seed;
    }
    EXPECT_GE(proved, 90);
}

TEST(BisectFailures, AnAbortedTrialIsTriedOnceMore) {
    SimulatedRuns runs({});
    int calls = 0;
    auto const measure = [&](Trial const& trial) -> Result<TrialOutcome> {
        if (++calls % 3 == 0) return failure(TrialStatus::aborted);
        return value(runs.run_s(trial.flipped));
    };
    auto const result = bisect(runs.atoms(), {}, measure).value();
    EXPECT_EQ(result.verdict, BisectVerdict::proved);
    ASSERT_EQ(result.culprits.size(), 1u);
    EXPECT_EQ(result.culprits[0].atoms, runs.culprits());
}

TEST(BisectFailures, WithoutABaselineThereIsNoAnswer) {
    auto const measure = [](Trial const& trial) -> Result<TrialOutcome> {
        return trial.flipped[0] ? failure(TrialStatus::cannot_start) : value(7);
    };
    auto const result = bisect(std::vector<FactorGroup>(4), {}, measure).value();
    EXPECT_EQ(result.verdict, BisectVerdict::undecided);
    EXPECT_EQ(result.reasons.back(), "stopped: the bad run does not start as it was");
}

TEST(BisectFailures, KeepsToItsBudgets) {
    for (int limit = 1; limit < 45; ++limit) {
        SimulatedRuns runs({.cause = Cause::either});
        BisectOptions options;
        options.trials_max = limit;
        auto const all = [](auto const&) { return true; };
        auto const by_trials = bisect(runs.atoms(), options, fallible(runs, all)).value();
        EXPECT_LE(static_cast<int>(by_trials.trials.size()), limit);
        options = {};
        options.budget_gpu_s = 60.0 * limit;
        auto const by_cost = bisect(runs.atoms(), options, fallible(runs, all)).value();
        EXPECT_LE(by_cost.cost_gpu_s, options.budget_gpu_s);
        if (by_cost.verdict != BisectVerdict::proved) {
            EXPECT_NE(by_cost.reasons.back().find("GPU-h"), std::string::npos);
        }
        if (limit < 8) {
            EXPECT_EQ(by_cost.verdict, BisectVerdict::undecided) << limit;
        }
    }
}

TEST(BisectFailures, AnErrorOfTheCallerEndsItWithWhatIsKnown) {
    SimulatedRuns runs({});
    auto const measure = [&](Trial const& trial) -> Result<TrialOutcome> {
        if (trial.seq > 14) return Error{Errc::cancelled, "interrupted"};
        return value(runs.run_s(trial.flipped));
    };
    auto const result = bisect(runs.atoms(), {}, measure).value();
    EXPECT_EQ(result.trials.size(), 14u);
    EXPECT_EQ(result.verdict, BisectVerdict::sufficient);
    EXPECT_EQ(result.reasons.back(), "stopped: interrupted");
}

// Whatever the runs do, there is an answer within the limit of trials.
TEST(BisectFailures, RunsWithoutAPattern) {
    for (unsigned seed = 1; seed <= 3000; ++seed) {
        std::mt19937_64 random(seed);
        std::lognormal_distribution<double> run_s(2, 0.02 * (seed % 50));
        BisectOptions options;
        if (seed % 2 == 0) options.sigma_s = 0.05;
        double const failing = seed % 7 == 0 ? 0.3 : 0;
        auto const result =
            bisect(std::vector<FactorGroup>(1 + seed % 9), options, [&](Trial const& t) {
                bool const fails = std::uniform_real_distribution<double>()(random) < failing;
                bool const is_slow = t.flipped[seed % t.flipped.size()];
                return Result<TrialOutcome>(fails
                                                ? failure(TrialStatus::cannot_start)
                                                : value(run_s(random) + (is_slow ? seed % 5 : 0)));
            }).value();
        EXPECT_LE(result.trials.size(), 120u);
    }
}

TEST(BisectFailures, AValueThatIsNoTimeIsAnError) {
    for (double const bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
        auto const measure = [&](Trial const&) -> Result<TrialOutcome> { return value(bad); };
        auto const result = bisect(std::vector<FactorGroup>(3), {}, measure).value();
        EXPECT_EQ(result.verdict, BisectVerdict::undecided);
        EXPECT_TRUE(result.trials.empty());
    }
}

void expect_equal(BisectResult const& a, BisectResult const& b) {
    EXPECT_EQ(a.verdict, b.verdict);
    EXPECT_EQ(a.reasons, b.reasons);
    EXPECT_EQ(a.explained, b.explained);
    EXPECT_EQ(a.proof.p, b.proof.p);
    ASSERT_EQ(a.culprits.size(), b.culprits.size());
    for (std::size_t i = 0; i < a.culprits.size(); ++i) {
        EXPECT_EQ(a.culprits[i].atoms, b.culprits[i].atoms);
        EXPECT_EQ(a.culprits[i].share, b.culprits[i].share);
    }
    ASSERT_EQ(a.trials.size(), b.trials.size());
    for (std::size_t i = 0; i < a.trials.size(); ++i) {
        EXPECT_EQ(a.trials[i].trial.flipped, b.trials[i].trial.flipped);
        EXPECT_EQ(a.trials[i].trial.phase, b.trials[i].trial.phase);
        EXPECT_EQ(a.trials[i].trial.block, b.trials[i].trial.block);
        EXPECT_EQ(a.trials[i].decision, b.trials[i].decision);
    }
}

// The log of a search that was killed after any trial leads to the same trials and answer.
TEST(BisectFailures, ALogPlaysBack) {
    for (auto const cause : {Cause::single, Cause::both, Cause::either, Cause::additive}) {
        SimulatedRuns runs({.cause = cause, .factors = 12, .d = 9, .outliers = 0.05, .seed = 5});
        std::vector<TrialOutcome> log;
        auto const starts = [](auto const& flipped) { return flipped[2] == flipped[7]; };
        auto const live = fallible(runs, starts);
        auto const whole = bisect(runs.atoms(), {}, [&](Trial const& trial) {
                               auto outcome = live(trial);
                               log.push_back(*outcome);
                               return outcome;
                           }).value();
        for (std::size_t kept = 0; kept <= log.size(); ++kept) {
            std::size_t next = 0;
            auto const killed = bisect(runs.atoms(), {}, [&](Trial const&) -> Result<TrialOutcome> {
                if (next == kept) return Error{Errc::cancelled, "killed"};
                return log[next++];
            });
            EXPECT_EQ(killed->trials.size(), kept);
            next = 0;
            auto const resumed = bisect(runs.atoms(), {}, [&](Trial const& trial) {
                EXPECT_EQ(trial.seq, static_cast<int>(next) + 1);
                return Result<TrialOutcome>(log[next++]);
            });
            expect_equal(*resumed, whole);
            for (std::size_t i = 0; i < kept; ++i) {
                EXPECT_EQ(killed->trials[i].trial.flipped, whole.trials[i].trial.flipped);
            }
        }
    }
}

}  // namespace
}  // namespace osora::db::analysis
