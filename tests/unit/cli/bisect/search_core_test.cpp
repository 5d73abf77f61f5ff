#include "cli/bisect/search_core.hpp"

#include "protocol/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace osora::cli {
namespace {

using namespace db::analysis;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::size_t kStates = 4;

CommitPath path_of_three() {
    CommitPath path;
    for (std::size_t i = 0; i < kStates; ++i) {
        path.states.push_back({.hash = std::string(40, static_cast<char>('0' + i)),
                               .first_parent = {},
                               .date = "2026-05-03",
                               .subject = "change"});
    }
    return path;
}

/// The items `names`; "commits", if it is one of them, is a path of three commits.
BisectPlan plan_with(std::vector<std::string> const& names) {
    BisectPlan plan;
    plan.level = "rehearsal";
    plan.steps = 25;
    for (auto const& name : names) {
        int const index = static_cast<int>(plan.atoms.atoms.size());
        bool const is_commits = name == "commits";
        plan.atoms.factors.push_back(
            {name, is_commits ? FactorKind::commit : FactorKind::config, "1", "2"});
        plan.atoms.atoms.push_back({name, {index}, 1});
        if (!is_commits) continue;
        plan.atoms.commit_atom = index;
        plan.commits.path = path_of_three();
        plan.commits.build = {"make"};
    }
    return plan;
}

SearchEnd end_with(BisectVerdict verdict, std::vector<Culprit> culprits = {}) {
    SearchEnd end;
    end.result.verdict = verdict;
    end.result.culprits = std::move(culprits);
    return end;
}

db::InvestigatedTrial trial(std::string flipped, std::string run) {
    return {.flipped = std::move(flipped), .value_s = 1, .run = std::move(run)};
}

/// A search between two training runs, at most 20 trials and 100 GPU-seconds.
class SearchCoreTest : public testing::Test {
protected:
    void start(BisectPlan plan, bool trains = true) {
        plan_ = std::move(plan);
        SearchRules rules{.good = "good-uuid", .bad = "bad-uuid", .trains = trains, .options = {}};
        rules.options.trials_max = 20;
        rules.options.budget_gpu_s = 100;
        core_.emplace(plan_, rules);
    }
    [[nodiscard]] bool is_over() const { return !core_->next().has_value(); }
    [[nodiscard]] SearchStep const& next() const { return *core_->next(); }
    [[nodiscard]] BisectAnswer const& answer() const { return core_->outcome().answer; }
    void end(SearchEnd end) { core_->ended(std::move(end)); }

    /// Runs whose trials the next search does not repeat.
    [[nodiscard]] std::vector<std::string> measured(std::string const& bits) const {
        std::vector<std::string> runs;
        auto const found = next().measured.find(bits);
        if (found == next().measured.end()) return runs;
        for (auto const& each : found->second) runs.push_back(each.run);
        return runs;
    }

    /// The search among x and the commits: these are the cause.
    [[nodiscard]] static SearchEnd commits_are_the_cause(int trials = 8, double cost_gpu_s = 40) {
        auto end = end_with(BisectVerdict::proved, {{{1}, 1}});
        end.result.relation = Relation::single;
        end.result.trials.resize(static_cast<std::size_t>(trials));
        end.result.cost_gpu_s = cost_gpu_s;
        return end;
    }

    BisectPlan plan_;
    std::optional<SearchCore> core_;
};

TEST_F(SearchCoreTest, BeginsAmongTheItemsAtThePlansLevel) {
    start(plan_with({"x", "commits"}));
    EXPECT_FALSE(next().is_path);
    EXPECT_TRUE(next().may_be_too_low);
    EXPECT_EQ(next().notice, "");
    EXPECT_EQ(next().options.trials_max, 20);
    EXPECT_EQ(next().question,
              (db::InvestigationQuestion{.good = "good-uuid",
                                         .bad = "bad-uuid",
                                         .rung = "rehearsal",
                                         .steps = 25,
                                         .atoms = {"x", "commits built with [\"make\"]"}}));
}

TEST_F(SearchCoreTest, AQuestionKeepsTheKeyOfItsLevelInFiles) {
    start(plan_with({"x"}));
    EXPECT_THAT(protocol::encode(next().question), HasSubstr("\"rung\":\"rehearsal\""));
}

TEST_F(SearchCoreTest, RehearsalsWithoutTheGapAreFollowedByRuns) {
    for (bool const ended_early : {false, true}) {
        start(plan_with({"x"}));
        auto rehearsed =
            end_with(ended_early ? BisectVerdict::undecided : BisectVerdict::not_reproducible);
        rehearsed.too_low = ended_early;
        rehearsed.failure = "of a rehearsal";
        end(rehearsed);
        ASSERT_FALSE(is_over());
        EXPECT_EQ(next().level(), "run");
        EXPECT_FALSE(next().may_be_too_low);
        EXPECT_THAT(next().notice, HasSubstr("rehearsals do not show the gap"));
        EXPECT_EQ(next().options.trials_max, 20) << "the rehearsals are not counted";
        end(end_with(BisectVerdict::not_reproducible));
        EXPECT_TRUE(is_over()) << "there is no higher level";
        EXPECT_EQ(answer().items->verdict, BisectVerdict::not_reproducible);
        EXPECT_EQ(core_->outcome().failure, "");
    }
}

TEST_F(SearchCoreTest, OnlyRehearsalsOfTrainingMayMissTheGap) {
    start(plan_with({"x"}), false);
    EXPECT_FALSE(next().may_be_too_low);
    end(end_with(BisectVerdict::not_reproducible));
    EXPECT_TRUE(is_over());
    start(plan_with({"x"}));
    end(end_with(BisectVerdict::below_resolution));
    EXPECT_TRUE(is_over()) << "the gap is there";
}

TEST_F(SearchCoreTest, SearchesAmongTheCommitsWithTheBudgetThatIsLeft) {
    start(plan_with({"x", "commits"}));
    end(commits_are_the_cause(8, 40));
    ASSERT_FALSE(is_over());
    EXPECT_TRUE(next().is_path);
    EXPECT_FALSE(next().may_be_too_low);
    EXPECT_EQ(next().level(), "rehearsal");
    EXPECT_EQ(next().options.trials_max, 12);
    EXPECT_DOUBLE_EQ(next().options.budget_gpu_s, 60);
    EXPECT_EQ(next().notice, "\nthe commits have a part in it; which of the 3:\n");
    EXPECT_THAT(next().question.atoms,
                ElementsAre("commits built with [\"make\"]", std::string(40, '0'),
                            std::string(40, '1'), std::string(40, '2'), std::string(40, '3')));
    auto path = end_with(BisectVerdict::not_reproducible);
    path.too_low = true;
    end(path);
    EXPECT_TRUE(is_over()) << "the second search has no higher level";
    EXPECT_EQ(answer().items->verdict, BisectVerdict::proved);
    EXPECT_EQ(answer().commits->verdict, BisectVerdict::not_reproducible);
}

TEST_F(SearchCoreTest, CommitsAreSearchedOnlyIfTheyAreACause) {
    for (auto const verdict : {BisectVerdict::proved, BisectVerdict::sufficient,
                               BisectVerdict::necessary, BisectVerdict::undecided}) {
        start(plan_with({"x", "commits"}));
        end(end_with(verdict, {{{1}, 1}}));
        EXPECT_EQ(is_over(), verdict == BisectVerdict::undecided);
    }
    start(plan_with({"x", "commits"}));
    end(end_with(BisectVerdict::proved, {{{0}, 1}}));
    EXPECT_TRUE(is_over()) << "x is the cause";
    start(plan_with({"x", "commits"}));
    end(end_with(BisectVerdict::proved, {{{0, 1}, 1}}));
    EXPECT_TRUE(is_over()) << "trials could not separate x and the commits";
    auto one = plan_with({"x", "commits"});
    one.commits.path->states.resize(2);
    start(one);
    end(commits_are_the_cause());
    EXPECT_TRUE(is_over()) << "the path has one commit";
}

TEST_F(SearchCoreTest, SaysWhyTheCommitsAreNotSearched) {
    for (auto const& [trials, cost_gpu_s] : {std::pair{20, 40.0}, {8, 100.0}}) {
        start(plan_with({"x", "commits"}));
        end(commits_are_the_cause(trials, cost_gpu_s));
        EXPECT_TRUE(is_over());
        EXPECT_THAT(answer().items->reasons,
                    ElementsAre("no trial is left to tell the commits apart"));
        EXPECT_FALSE(answer().commits);
    }
    start(plan_with({"x", "commits"}));
    end(commits_are_the_cause(19, 99.0));
    EXPECT_FALSE(is_over());
    EXPECT_THAT(answer().items->reasons, IsEmpty());
}

TEST_F(SearchCoreTest, AnInterruptEndsEverySearch) {
    start(plan_with({"x", "commits"}));
    auto first = end_with(BisectVerdict::not_reproducible);
    first.interrupted = true;
    end(first);
    EXPECT_TRUE(is_over()) << "no search at a higher level";
    EXPECT_TRUE(core_->outcome().interrupted);
    start(plan_with({"x", "commits"}));
    first = commits_are_the_cause();
    first.interrupted = true;
    end(first);
    EXPECT_TRUE(is_over()) << "no search among the commits";
    EXPECT_TRUE(core_->outcome().interrupted);
    start(plan_with({"x", "commits"}));
    end(commits_are_the_cause());
    auto second = end_with(BisectVerdict::undecided);
    second.interrupted = true;
    end(second);
    EXPECT_TRUE(is_over());
    EXPECT_TRUE(core_->outcome().interrupted);
}

TEST_F(SearchCoreTest, KeepsTheLastFailure) {
    start(plan_with({"x", "commits"}));
    auto first = commits_are_the_cause();
    first.failure = "of x";
    end(first);
    EXPECT_EQ(core_->outcome().failure, "of x");
    end(end_with(BisectVerdict::proved));
    EXPECT_EQ(core_->outcome().failure, "of x") << "the second search had none";
    start(plan_with({"x", "commits"}));
    end(first);
    auto second = end_with(BisectVerdict::proved);
    second.failure = "does not build";
    end(second);
    EXPECT_EQ(core_->outcome().failure, "does not build");
}

TEST_F(SearchCoreTest, OnlyCommitsAreSearchedAtOnceWhereThereIsAPath) {
    start(plan_with({"commits"}));
    EXPECT_TRUE(next().is_path);
    EXPECT_TRUE(next().may_be_too_low);
    EXPECT_EQ(next().options.trials_max, 20);
    EXPECT_THAT(next().measured, IsEmpty());
    end(end_with(BisectVerdict::not_reproducible));
    ASSERT_FALSE(is_over());
    EXPECT_TRUE(next().is_path);
    EXPECT_EQ(next().level(), "run");
    auto found = end_with(BisectVerdict::proved, {{{1}, 1}});
    found.log_id = "log-2";
    auto failed = trial("100", "t3");
    failed.failure = "ended with 1";
    found.trials = {trial("000", "t1"), trial("111", "t2"), failed, trial("000", "t4")};
    end(found);
    EXPECT_TRUE(is_over());
    EXPECT_FALSE(answer().items);
    EXPECT_EQ(answer().log(), "log-2");
    EXPECT_THAT(answer().runs, ElementsAre(Pair(0, "t4"), Pair(3, "t2")));
    auto one = plan_with({"commits"});
    one.commits.path->states.resize(2);
    start(one);
    EXPECT_FALSE(next().is_path) << "one commit is one item";
}

TEST_F(SearchCoreTest, EndsOfThePathCountFromTenSigmaOn) {
    auto const failed = [] {
        auto made = trial("01", "t4");
        made.failure = "ended with 1";
        return made;
    }();
    for (double const d : {9.99, 10.0, kNotMeasured}) {
        start(plan_with({"x", "commits"}));
        auto first = commits_are_the_cause();
        first.result.d = d;
        first.trials = {trial("00", "t1"), trial("01", "t2"), trial("11", "t3"), failed,
                        trial("00", "t5")};
        end(first);
        ASSERT_FALSE(is_over());
        if (!(d >= 10)) {
            EXPECT_THAT(next().measured, IsEmpty()) << d;
            continue;
        }
        ASSERT_EQ(next().measured.size(), 2u);
        EXPECT_THAT(measured("000"), ElementsAre("t1", "t5"));
        EXPECT_THAT(measured("111"), ElementsAre("t2")) << "x is as in the good run there";
    }
}

TEST_F(SearchCoreTest, WhatIsSlowOnlyTogetherIsKeptWhileCommitsAreCompared) {
    start(plan_with({"x", "commits"}));
    auto first = end_with(BisectVerdict::proved, {{{0}, 0.5}, {{1}, 0.5}});
    first.result.relation = Relation::both;
    first.result.d = 30;
    first.trials = {trial("00", "t1"), trial("10", "t2"), trial("11", "t3")};
    end(first);
    EXPECT_THAT(next().around, ElementsAre(true, false));
    EXPECT_THAT(next().question.atoms, testing::Contains("with x"));
    EXPECT_THAT(measured("000"), ElementsAre("t2"));
    EXPECT_THAT(measured("111"), ElementsAre("t3"));
    EXPECT_EQ(trial_choice(plan_, next(), {true, true, false}).state, 2);
    auto const start_of_path = trial_choice(plan_, next(), {false, false, false});
    EXPECT_EQ(start_of_path.state, 0);
    EXPECT_THAT(start_of_path.config_keys, ElementsAre("x"));
    EXPECT_THAT(changed_names(plan_, next(), {true, true, false}),
                ElementsAre("x", "commit " + std::string(40, '2')));
}

TEST_F(SearchCoreTest, AnItemIsTheWholePath) {
    start(plan_with({"x", "commits"}));
    EXPECT_EQ(trial_choice(plan_, next(), {true, false}).state, 0);
    auto const bad = trial_choice(plan_, next(), {false, true});
    EXPECT_EQ(bad.state, 3);
    EXPECT_THAT(bad.config_keys, IsEmpty());
    EXPECT_THAT(changed_names(plan_, next(), {false, true}), ElementsAre("commits"));
    start(plan_with({"x"}));
    EXPECT_EQ(trial_choice(plan_, next(), {true}).state, -1) << "what is installed here";
}

TEST_F(SearchCoreTest, TheHistoryHasTheResultOfEachSearch) {
    start(plan_with({"x", "commits"}));
    auto const first = end_with(BisectVerdict::sufficient, {{{0}, 1}});
    auto const items = investigation_end(plan_, next(), first.result);
    EXPECT_EQ(items.verdict, "sufficient");
    ASSERT_EQ(items.culprits.size(), 1u);
    EXPECT_EQ(items.culprits[0].item, "x");
    EXPECT_FALSE(items.culprits[0].holds);
    end(commits_are_the_cause());
    auto const second = end_with(BisectVerdict::proved, {{{1}, 1}});
    auto const commits = investigation_end(plan_, next(), second.result);
    ASSERT_EQ(commits.culprits.size(), 1u);
    EXPECT_EQ(commits.culprits[0].good, std::string(40, '1'));
    EXPECT_EQ(commits.culprits[0].bad, std::string(40, '2'));
    EXPECT_TRUE(commits.culprits[0].holds);
}

}  // namespace
}  // namespace osora::cli
