// What is said of commits among the culprits, and what sigma history gives.
#include "cli/bisect/bisect_culprit.hpp"
#include "cli/bisect/commits/commit_text.hpp"
#include "cli/bisect/history_sigma.hpp"
#include "cli/bisect/search_core.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace osora::cli {
namespace {

using namespace db::analysis;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

CommitInfo commit(char digit, std::string subject) {
    return {.hash = std::string(40, digit),
            .first_parent = {},
            .date = "2026-05-03",
            .subject = std::move(subject)};
}

/// Items: the commits, and "x".
BisectPlan plan() {
    BisectPlan made;
    made.good = 41;
    made.bad = 42;
    made.atoms.factors = {{"code.commit", FactorKind::commit, "a", "b"},
                          {"x", FactorKind::config, "1", "2"}};
    made.atoms.atoms = {{"code.commit", {0}, 1}, {"x", {1}, 1}};
    made.atoms.commit_atom = 0;
    made.commits.build = {"make", "-j 8"};
    made.commits.path = CommitPath{.repository = "/my code",
                                   .states = {commit('0', "start"), commit('1', "one\x1b[31m"),
                                              commit('2', "two"), commit('3', "three")},
                                   .undone = 0};
    return made;
}

BisectResult found(std::vector<Culprit> culprits, Relation relation) {
    BisectResult result;
    result.verdict = BisectVerdict::proved;
    result.culprits = std::move(culprits);
    result.relation = relation;
    result.explained = 1;
    result.proof.p = 0.01;
    result.proof.pairs = 5;
    return result;
}

TEST(BisectAnswer, TheCommitRepresentsTheRange) {
    BisectAnswer answer;
    answer.items = found({{{0}, 0.6}, {{1}, 0.4}}, Relation::additive);
    auto const range = shown_culprits(plan(), answer);
    ASSERT_EQ(range.size(), 2u);
    EXPECT_EQ(range[0].named.name, "commit");
    EXPECT_EQ(range[0].last_step - range[0].first_step, 3)
        << "no commit was separated from the others";
    EXPECT_EQ(range[0].p, 0.01);
    answer.commits = found({{{1}, 0.9}}, Relation::single);
    answer.commits->proof.p = 0.03;
    auto const reported = shown_culprits(plan(), answer);
    EXPECT_EQ(reported[0].named.good, std::string(40, '1'));
    EXPECT_EQ(reported[0].named.bad, std::string(40, '2'));
    EXPECT_NEAR(reported[0].share, 0.54, 1e-12);
    EXPECT_EQ(reported[0].p, 0.03);
    EXPECT_EQ(reported[1].named.name, "x");
    auto const text = bisect_answer_text(plan(), answer);
    EXPECT_THAT(text, HasSubstr("commit 2222222222 \"two\" (2026-05-03) and x = 2"));
    EXPECT_THAT(text, HasSubstr("look: git -C '/my code' diff 1111111111 2222222222\n"));
    EXPECT_THAT(text, HasSubstr("undo: git -C '/my code' revert 2222222222\n"));
}

TEST(BisectAnswer, CommitsThatDoNotBuildAreNamedWithTheirNeighbour) {
    BisectAnswer answer;
    answer.commits = found({{{0, 1}, 1}}, Relation::single);
    answer.runs = {{0, "mine-bisect-0003"}, {2, "mine-bisect-0004"}};
    auto shown = plan();
    shown.steps = 25;
    auto const text = bisect_answer_text(shown, answer);
    EXPECT_THAT(text, HasSubstr("one of 2 commits, 0000000000..2222222222,"));
    EXPECT_THAT(text, HasSubstr("1111111111 \"one?[31m\" (2026-05-03): does not build or start\n"));
    EXPECT_THAT(text, HasSubstr("2222222222 \"two\" (2026-05-03)\n"));
    EXPECT_THAT(text, HasSubstr("submit --from mine-bisect-0003 --set train.steps=25; osora submit "
                                "--from mine-bisect-0004"));
    auto const json = bisect_json(shown, answer);
    EXPECT_EQ(json.at("culprits").at(0).at("commits").as_array().size(), 2u);
    EXPECT_EQ(json.at("commit_path").at("commits"), 3);
}

TEST(BisectAnswer, ACommitThatIsMissingIsPutBack) {
    auto shown = plan();
    shown.commits.path->undone = 2;
    BisectAnswer answer;
    answer.commits = found({{{1}, 1}}, Relation::single);
    auto const text = bisect_answer_text(shown, answer);
    EXPECT_THAT(text, HasSubstr("commit 1111111111"));
    EXPECT_THAT(text, HasSubstr("which run 42 lacks"));
    EXPECT_THAT(text, HasSubstr("cherry-pick 1111111111\n"));
}

TEST(BisectAnswer, TrialsOfAStagedRunSeeItsFirstStageOnly) {
    auto shown = plan();
    BisectAnswer answer;
    answer.items = found({}, Relation::none);
    answer.items->verdict = BisectVerdict::not_reproducible;
    answer.items->good_s = answer.items->bad_s = 1;
    answer.items->trials.resize(6);
    std::string const note = "trials train without the [[stage]] tables of run 42";
    EXPECT_THAT(bisect_plan_text(shown), Not(HasSubstr("[[stage]]")));
    EXPECT_THAT(bisect_answer_text(shown, answer), Not(HasSubstr("[[stage]]")));
    EXPECT_FALSE(bisect_json(shown, answer).contains("notes"));
    shown.staged = {42};
    EXPECT_THAT(bisect_plan_text(shown), HasSubstr("note: " + note));
    EXPECT_THAT(bisect_answer_text(shown, answer), HasSubstr("why: " + note));
    EXPECT_THAT(bisect_json(shown, answer).at("notes").at(0).as_string().c_str(), HasSubstr(note));
    answer.items->verdict = BisectVerdict::proved;
    EXPECT_THAT(bisect_answer_text(shown, answer), Not(HasSubstr("[[stage]]")));
}

TEST(RecordedCommits, WhatWasNotCommittedIsSaid) {
    BisectSide good, bad;
    good.run.summary.run.number = 41;
    bad.run.summary.run.number = 42;
    good.run.software = {{"osora.commit", "aaaa"}, {"code.commit", "cccc"}};
    bad.run.software = {{"osora.commit", "bbbb-dirty"},
                        {"code.commit", "dddd"},
                        {"code.repository", "/my code"},
                        {"code.dirty", "2 files, 123456"}};
    auto const own = recorded_commits(good, bad);
    EXPECT_EQ(own.factor, "osora.commit");
    EXPECT_EQ(own.bad, "bbbb");
    EXPECT_THAT(own.notes, ElementsAre(HasSubstr("run 42: osora was built with changes")));
    good.run.summary.run.job = bad.run.summary.run.job = "exec";
    auto const code = recorded_commits(good, bad);
    EXPECT_EQ(code.factor, "code.commit");
    EXPECT_EQ(code.good, "cccc");
    EXPECT_THAT(code.repositories, ElementsAre("/my code"));
    EXPECT_THAT(code.notes, ElementsAre(HasSubstr("run 42 had changes that were not committed")));
}

TEST(TriableAtoms, CommitsAreOneItemWhereTheyCanBeBuilt) {
    BisectSide good, bad;
    for (auto* side : {&good, &bad}) side->run.summary.measured.emplace().step_s_mix = 1;
    good.run.software = {{"osora.commit", "a"}, {"osora.version", "1"}, {"code.commit", "c"}};
    bad.run.software = {{"osora.commit", "b"}, {"osora.version", "2"}, {"code.commit", "d"}};
    bad.run.software["code.dirty"] = "1 file, 12";
    auto const own = triable_atoms(good, bad, {}, {"osora.commit", ""});
    ASSERT_EQ(own.atoms.size(), 1u);
    EXPECT_EQ(own.commit_atom, 0);
    EXPECT_EQ(own.atoms[0].name, "osora.commit");
    EXPECT_EQ(own.atoms[0].factors.size(), 2u) << "the version comes with it";
    EXPECT_EQ(own.not_tried.size(), 2u);
    auto const none = triable_atoms(good, bad, {}, {"code.commit", "no recipe"});
    EXPECT_EQ(none.commit_atom, -1);
    EXPECT_TRUE(none.atoms.empty());
    auto const code = std::ranges::find(none.not_tried, "code.commit", &NotTried::name);
    ASSERT_NE(code, none.not_tried.end());
    EXPECT_EQ(code->why, "no recipe");
    auto const dirty = std::ranges::find(none.not_tried, "code.dirty", &NotTried::name);
    EXPECT_THAT(dirty->why, HasSubstr("not committed"));
}

TEST(SurroundingsOfCommits, AreBadWhereOnlyTogetherTheyAreSlow) {
    BisectAnswer answer;
    answer.items = found({{{0}, 0.5}, {{1}, 0.5}}, Relation::both);
    EXPECT_THAT(surroundings_of_commits(plan(), answer), ElementsAre(false, true));
    answer.items->relation = Relation::either;
    EXPECT_THAT(surroundings_of_commits(plan(), answer), ElementsAre(false, false));
}

/// Runs of 100 s, `jump` slower from the sixth on.
std::vector<SeriesRun> series(int count, double sigma_s, double jump_s) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> noise(0, sigma_s);
    std::vector<SeriesRun> runs;
    for (int i = 0; i < count; ++i) {
        SeriesRun run;
        run.summary.run.number = i + 1;
        run.summary.run.fingerprint[0] = 5;
        auto& measured = run.summary.measured.emplace();
        measured.steps = measured.steps_used = 100;
        measured.step_s_median = measured.step_s_mix = 100 + noise(random) + (i < 5 ? 0 : jump_s);
        measured.buckets = {{"64x64x8", 100, 4, measured.step_s_mix, 0.0}};
        runs.push_back(std::move(run));
    }
    return runs;
}

TEST(HistorySigma, IsThatOfLikeRunsAlsoAcrossAChange) {
    auto const runs = series(60, 1, 30);
    auto const sigma = sigma_of_like_runs(runs, runs[2].summary, 20);
    EXPECT_EQ(sigma.runs, 60);
    EXPECT_NEAR(sigma.sigma_s, 1, 0.35);
    EXPECT_EQ(sigma_of_like_runs(series(7, 1, 0), runs[2].summary, 20).runs, 0) << "too few";
    EXPECT_EQ(sigma_of_like_runs(series(20, 0, 0), runs[2].summary, 20).runs, 0) << "no spread";
    auto other = runs;
    for (auto& each : other) each.summary.run.fingerprint[0] = 6;
    EXPECT_EQ(sigma_of_like_runs(other, runs[2].summary, 20).runs, 0) << "other run files";
}

TEST(HistorySigma, AShortTrialVariesMoreThanALongRun) {
    auto runs = series(20, 0.01, 0);
    for (auto& each : runs) each.summary.measured->buckets[0].step_s_mad = 2;
    // sqrt(pi / 2) * 1.4826 * 2 / sqrt(25)
    EXPECT_NEAR(sigma_of_like_runs(runs, runs[0].summary, 25).sigma_s, 0.743, 0.01);
}

}  // namespace
}  // namespace osora::cli
