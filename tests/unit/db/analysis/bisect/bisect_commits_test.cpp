#include "bench/bisect/simulated_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

namespace osora::db::analysis {
namespace {

constexpr double kSigmaS = 0.2;

/// Step times by the number of commits that are in, with noise; `broken` do not build.
struct History {
    std::vector<std::pair<int, double>> rises;  // from this many commits on, seconds
    std::set<int> broken;
    std::mt19937_64 random{1};

    Result<TrialOutcome> run(Trial const& trial) {
        int const in = static_cast<int>(std::ranges::count(trial.flipped, true));
        EXPECT_TRUE(std::ranges::is_sorted(trial.flipped, std::greater()));
        TrialOutcome outcome;
        if (broken.contains(in)) {
            outcome.status = TrialStatus::cannot_start;
            return outcome;
        }
        outcome.value_s = 7 + std::normal_distribution<double>(0, kSigmaS)(random);
        for (auto const& [from, by] : rises) outcome.value_s += in >= from ? by : 0;
        return outcome;
    }
};

BisectResult search(int commits, History& history) {
    BisectOptions options;
    options.sigma_s = kSigmaS;
    return bisect_commits(commits, options, [&](Trial const& trial) { return history.run(trial); })
        .value();
}

TEST(BisectCommits, FindsEachPlaceInLog2Trials) {
    for (int at = 1; at <= 256; ++at) {
        History history{{{at, 6}}, {}, std::mt19937_64(static_cast<unsigned>(at))};
        auto const result = search(256, history);
        ASSERT_EQ(result.culprits.size(), 1u) << at;
        EXPECT_EQ(result.culprits[0].atoms, std::vector<int>{at - 1});
        EXPECT_EQ(result.verdict, BisectVerdict::proved) << at;
        EXPECT_NEAR(result.culprits[0].share, 1, 0.2);
        EXPECT_LE(result.trials.size(), 26u) << at;
    }
}

TEST(BisectCommits, TakesAsManyTrialsAsItSays) {
    for (int const commits : {1, 2, 8, 64, 256}) {
        double total = 0;
        for (int repeat = 1; repeat <= 64; ++repeat) {
            int const at = 1 + repeat * 37 % commits;
            History history{{{at, 6}}, {}, std::mt19937_64(static_cast<unsigned>(repeat))};
            total += static_cast<double>(search(commits, history).trials.size());
        }
        BisectOptions options;
        options.sigma_s = kSigmaS;
        EXPECT_NEAR(total / 64, expected_commit_trials(commits, options), 3) << commits;
    }
}

TEST(BisectCommits, AProofWithoutPairsHasNoP) {
    History history{{{5, 6}}, {}};
    BisectOptions options;
    options.sigma_s = kSigmaS;
    auto const result = bisect_commits(8, options, [&](Trial const& trial) {
                            auto outcome = history.run(trial);
                            if (trial.phase == TrialPhase::proof) {
                                outcome->status = TrialStatus::cannot_start;  // a full disk
                            }
                            return outcome;
                        }).value();
    ASSERT_EQ(result.culprits.size(), 1u);
    EXPECT_EQ(result.verdict, BisectVerdict::below_resolution);
    EXPECT_EQ(result.proof.pairs, 0);
    EXPECT_TRUE(std::isnan(result.proof.p)) << result.proof.p;
}

TEST(BisectCommits, PassesOverCommitsThatDoNotBuild) {
    History history{{{40, 6}}, {30, 31, 32, 33, 34, 36}};
    auto const result = search(64, history);
    ASSERT_EQ(result.culprits.size(), 1u);
    EXPECT_EQ(result.culprits[0].atoms, std::vector<int>{39});
    EXPECT_EQ(result.verdict, BisectVerdict::proved);
}

TEST(BisectCommits, ACulpritAmongCommitsThatDoNotBuildIsNamedWithThem) {
    History history{{{32, 6}}, {30, 31, 32, 33}};
    auto const result = search(64, history);
    ASSERT_EQ(result.culprits.size(), 1u);
    EXPECT_EQ(result.culprits[0].atoms, (std::vector<int>{29, 30, 31, 32, 33}));
    EXPECT_EQ(result.verdict, BisectVerdict::proved);
    EXPECT_FALSE(result.reasons.empty());
}

TEST(BisectCommits, FindsSeveralRises) {
    History history{{{10, 4}, {50, 3}}, {}};
    auto const result = search(64, history);
    ASSERT_EQ(result.culprits.size(), 2u);
    EXPECT_EQ(result.culprits[0].atoms, std::vector<int>{9});
    EXPECT_EQ(result.culprits[1].atoms, std::vector<int>{49});
    EXPECT_NEAR(result.culprits[0].share, 4.0 / 7, 0.1);
    EXPECT_EQ(result.relation, Relation::additive);
    EXPECT_EQ(result.verdict, BisectVerdict::proved);
}

TEST(BisectCommits, OneCommitAndNone) {
    History history{{{1, 6}}, {}};
    EXPECT_EQ(search(1, history).verdict, BisectVerdict::proved);
    EXPECT_TRUE(
        bisect_commits(0, {}, [&](Trial const& trial) { return history.run(trial); }).has_error());
}

TEST(BisectCommits, AHealthyPairIsNotReproducible) {
    History history{{}, {}};
    auto const result = search(64, history);
    EXPECT_EQ(result.verdict, BisectVerdict::not_reproducible);
    EXPECT_TRUE(result.culprits.empty());
}

}  // namespace
}  // namespace osora::db::analysis
