// Comparison of two runs: which is slower, which rank is named, what differs.
#include "db/analysis/attribution/run_comparison.hpp"
#include "protocol/journal/run_events.hpp"
#include "tests/unit/db/analysis/attribution/step_tables.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace osora::db::analysis::test {
namespace {

RunHistory history(MadeRun const& run, int number = 41) {
    RunHistory made;
    made.summary.run.number = number;
    made.summary.run.name = "demo-00" + std::to_string(number);
    made.summary.run.uuid = "uuid-" + std::to_string(number);
    made.summary.run.run_dir = "/state/runs/" + made.summary.run.name;
    made.summary.run.ranks = run.ranks;
    made.summary.nodes = {{0, "n0", "", 8}};
    made.config = {{"run.job", "train"}, {"model.arch", "stdit3-tiny"}};
    made.steps = steps_of(run);
    return made;
}

MadeRun with_transfer(double seconds) {
    MadeRun run;
    run.rank_step = [seconds](int, int) {
        RankStep step;
        step.transfer_s = seconds;
        return step;
    };
    return run;
}

SpeedVerdict verdict(MadeRun const& a, MadeRun const& b) {
    return compare_runs({history(a)}, {history(b)}).verdict;
}

TEST(CompareRuns, SlowerFasterOrTheSame) {
    EXPECT_EQ(verdict({}, {}), SpeedVerdict::same);
    EXPECT_EQ(verdict({}, with_transfer(1)), SpeedVerdict::slower);
    EXPECT_EQ(verdict(with_transfer(1), {}), SpeedVerdict::faster);
    EXPECT_EQ(verdict({}, with_transfer(0.3)), SpeedVerdict::same) << "1.3 % is nothing";
    MadeRun few;
    few.steps = 5;
    EXPECT_EQ(verdict({}, few), SpeedVerdict::undecided);
    MadeRun stalled;
    stalled.rank_step = [](int step, int) {
        RankStep each;
        each.other_s = step == 70 ? 60 : 0.05;
        return each;
    };
    EXPECT_EQ(verdict({}, stalled), SpeedVerdict::same) << "one step of a hundred";
}

/// Without the rows from step 200 on of which only every tenth stays.
StepTable thinned(StepTable const& all) {
    StepTable left;
    left.buckets = all.buckets;
    for (std::size_t i = 0; i < all.size(); ++i) {
        bool const is_early = all.step[i] < 200;
        if (!is_early && all.step[i] % 10 != 0) continue;
        left.step.push_back(all.step[i]);
        left.attempt.push_back(all.attempt[i]);
        left.ranks.push_back(all.ranks[i]);
        left.samples.push_back(all.samples[i]);
        left.repeated.push_back(all.repeated[i]);
        left.bucket.push_back(all.bucket[i]);
        left.stands_for.push_back(is_early ? 1 : 10);
        for (auto const& [name, column] : all.columns) {
            auto& into = left.columns[name];
            into.mean.push_back(column.mean[i]);
            into.min.push_back(column.min[i]);
            into.max.push_back(column.max[i]);
            into.argmax.push_back(column.argmax[i]);
        }
    }
    return left;
}

// Steps take 3.8 s up to step 200, and 4.8 s from there on to step 1,200.
TEST(CompareRuns, AStepThatStandsForTenCountsTenTimes) {
    MadeRun slower;
    slower.steps = 1200;
    slower.rank_step = [](int step, int) {
        RankStep each;
        each.transfer_s += step < 200 ? 0 : 1;
        return each;
    };
    auto const all = history(slower);
    auto old = all;
    old.steps = thinned(all.steps);
    ASSERT_EQ(old.steps.size(), 300u);
    auto const whole = compare_runs({history({})}, {all});
    auto const part = compare_runs({history({})}, {old});
    double const warm_s = (180 * 3.8 + 1000 * 4.8) / 1180;  // 20 steps warm up
    EXPECT_NEAR(whole.waterfall.b_s, warm_s, 1e-9);
    EXPECT_NEAR(part.waterfall.b_s, warm_s, 1e-9);
    EXPECT_NEAR(part.b.efficiency.parallel, whole.b.efficiency.parallel, 1e-9);
}

TEST(CompareRuns, PopEfficienciesMultiply) {
    MadeRun b;
    b.rank_step = [](int, int rank) {
        RankStep step;
        step.backward_s += rank == 2 ? 1 : 0;
        return step;
    };
    auto const found = compare_runs({history({})}, {history(b)});
    // 3.5 s of 3.8; then 3.75 s of 4.8, where the last rank works 4.5.
    EXPECT_NEAR(found.a.efficiency.parallel, 3.5 / 3.8, 1e-9);
    EXPECT_NEAR(found.a.efficiency.load_balance, 1, 1e-9);
    EXPECT_NEAR(found.b.efficiency.load_balance, 3.75 / 4.5, 1e-9);
    EXPECT_NEAR(found.b.efficiency.communication, 4.5 / 4.8, 1e-9);
    EXPECT_NEAR(found.b.efficiency.parallel,
                found.b.efficiency.load_balance * found.b.efficiency.communication, 1e-12);
    EXPECT_NEAR(found.computation, 3.5 / 3.75, 1e-9);
}

TEST(CompareRuns, AStragglerIsNamedOnlyWhenItIsOne) {
    MadeRun one, taking_turns;
    one.rank_step = [](int, int rank) {
        RankStep step;
        step.backward_s += rank == 2 ? 1 : 0;
        return step;
    };
    taking_turns.rank_step = [](int number, int rank) {
        RankStep step;
        step.backward_s += rank == number % 4 ? 1 : 0;
        return step;
    };
    auto const named = compare_runs({history({})}, {history(one)});
    ASSERT_TRUE(named.b.straggler);
    EXPECT_EQ(named.b.straggler->rank, 2);
    EXPECT_FALSE(named.a.straggler);
    auto const none = compare_runs({history({})}, {history(taking_turns)});
    EXPECT_EQ(none.verdict, SpeedVerdict::slower);
    EXPECT_FALSE(none.b.straggler) << "every rank is slow in its turn";
}

TEST(CompareRuns, DifferentWorkIsNotCompared) {
    auto a = history({}), b = history({}, 42);
    b.config["model.arch"] = "mmdit-tiny";
    auto found = compare_runs({a}, {b});
    EXPECT_EQ(found.verdict, SpeedVerdict::other_work);
    EXPECT_EQ(found.other_work, "model.arch stdit3-tiny / mmdit-tiny");
    EXPECT_TRUE(found.waterfall.rows.empty());
    EXPECT_EQ(found.differences.size(), 1u);
    MadeRun other;
    other.bucket = [](int) { return "128x128x8"; };
    found = compare_runs({a}, {history(other)});
    EXPECT_EQ(found.other_work, "no bucket in common: 64x64x8 / 128x128x8");
}

// 120 steps, two checkpoints of 3 s: 0.05 s a step, also when nine of ten steps are gone.
TEST(CompareRuns, AThinnedRunKeepsItsFigures) {
    auto whole = history({});
    EventRecord saved;
    saved.kind = protocol::CheckpointCompleted::kType;
    saved.body = R"({"attempt": 0, "step": 60, "path": "a", "seconds": 3, "bytes": 1})";
    whole.events = {saved, saved};
    auto thinned = whole;
    thinned.kept = step_figures(whole.steps, {}, {});
    MadeRun left;
    left.steps = 12;
    left.rank_step = [](int, int) { return RankStep{.other_s = 9}; };
    thinned.steps = steps_of(left);
    auto const found = compare_runs({whole}, {thinned});
    EXPECT_NEAR(found.a.checkpoint_s, 0.05, 1e-12);
    EXPECT_NEAR(found.b.checkpoint_s, 0.05, 1e-12);
    EXPECT_EQ(found.b.step_s_median, found.a.step_s_median);
}

TEST(Differences, ByKindWithoutWhatBelongsToTheLaunch) {
    auto a = history({}), b = history({}, 42);
    a.config["debug.collectives"] = "bucketed";
    b.config["debug.collectives"] = "per_parameter";
    a.config["run.name"] = "good";
    b.config["run.name"] = "bad";
    b.config["notify.mail"] = "a@b";
    a.software["worker.sha256"] = "aa";
    b.software["worker.sha256"] = "bb";
    a.env["NCCL_CONF_FILE"] = a.summary.run.run_dir + "/nccl.conf";
    b.env["NCCL_CONF_FILE"] = b.summary.run.run_dir + "/nccl.conf";
    a.env["MASTER_PORT"] = "1";
    b.env["MASTER_PORT"] = "2";
    b.env["NCCL_ALGO"] = "Tree";
    b.hardware["host.cpu"] = "old";
    b.summary.nodes = {{0, "n1", "", 8}, {1, "n0", "", 8}};
    std::vector<Difference> const expected{
        {"config", "debug.collectives", "bucketed", "per_parameter"},
        {"software", "worker.sha256", "aa", "bb"},
        {"env", "NCCL_ALGO", "", "Tree"},
        {"hardware", "host.cpu", "", "old"},
        {"nodes", "hosts", "n0", "n0 n1"}};
    EXPECT_EQ(differences(a, b), expected);
    EXPECT_TRUE(differences(a, a).empty());
}

TEST(Differences, OfThePlan) {
    auto a = history({}), b = a;
    a.summary.plan = PlanRecord{};
    b.summary.plan = PlanRecord{};
    b.summary.plan->chosen.dp_size = 4;
    a.summary.plan->chosen.sp_kind = "ring";
    b.summary.plan->chosen.sp_kind = "ulysses";
    a.summary.plan->chosen.buckets = {{"64", 8, 64, 64, 2, 1}};
    b.summary.plan->chosen.buckets = {{"64", 8, 64, 64, 1, 2}};
    std::vector<Difference> const expected{
        {"plan", "bucket 64x64x8", "micro-batch 2 x 1", "micro-batch 1 x 2"},
        {"plan", "dp_size", "1", "4"},
        {"plan", "sp_kind", "ring", "ulysses"}};
    EXPECT_EQ(differences(a, b), expected);
}

}  // namespace
}  // namespace osora::db::analysis::test
