// [tune] progressive with real workers on the CPU. Which setting is faster depends on the machine;
// that the losses do not change, what is reported, and what the next attempt does, does not.
#include "base/files/files.hpp"
#include "protocol/json.hpp"
#include "tests/e2e_worker/worker_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>

namespace osora::tests {
namespace {

namespace fs = std::filesystem;

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

constexpr double kGiB = 1 << 30;

class ProgressiveTuning : public WorkerTest {
protected:
    void SetUp() override {
        WorkerTest::SetUp();
        make_clips(6, [](int) { return "64x64"; });
    }
    /// One bucket, whose passes have `size` of the `of` samples of a rank.
    plan::WorkerJob job_of(int ranks, int steps, int size, int of) const {
        auto made = job(ranks, steps);
        made.config.bucket = {made.config.bucket[2]};  // pictures, which take least time
        made.plan.chosen.buckets = {made.plan.chosen.buckets[2]};
        auto& bucket = made.plan.chosen.buckets[0];
        bucket.micro_batch_size = size;
        bucket.grad_accum_steps = of / size;
        bucket.global_batch_size = of * ranks;
        return made;
    }
    std::vector<WorkerRun> fresh(plan::WorkerJob const& job, int ranks) {
        fs::remove_all(folder_ / "run dir");
        fs::create_directories(folder_ / "run dir");
        return run(job, ranks);
    }
    fs::path file() const { return folder_ / "run dir" / "passes" / "stage-0.json"; }
};

std::vector<std::string> notices_of(WorkerRun const& run) {
    std::vector<std::string> found;
    for (auto const& notice : run.of("notice"))
        if (notice.at("kind").as_string() == "tuned")
            found.emplace_back(notice.at("detail").as_string());
    return found;
}

void expect_equal_losses(WorkerRun const& run, WorkerRun const& expected) {
    auto const losses = run.steps("loss"), others = expected.steps("loss");
    ASSERT_GE(losses.size(), others.size());
    for (std::size_t i = 0; i < others.size(); ++i)
        ASSERT_NEAR(losses[i], others[i], 1e-4 * others[i]) << i;
}

TEST_F(ProgressiveTuning, ChangesPassesAndNotTheLoss) {
    // After 5 steps at most two trials, of 48 steps at most.
    auto tuned = job_of(2, 110, 2, 4);
    tuned.config.tune.progressive = true;
    tuned.config.memory.recompute.value = "none";
    tuned.plan.predicted.memory_limit_gib = 4;
    auto const plain = fresh(job_of(2, 30, 2, 4), 2);
    ASSERT_EQ(plain[0].exit_code, 0);
    EXPECT_THAT(plain[0].steps("micro_batch_size"), testing::Each(2));
    EXPECT_TRUE(notices_of(plain[0]).empty());

    auto const runs = fresh(tuned, 2);
    for (int rank = 0; rank < 2; ++rank) {
        auto const& run = runs[static_cast<std::size_t>(rank)];
        ASSERT_EQ(run.exit_code, 0);
        expect_equal_losses(run, plain[static_cast<std::size_t>(rank)]);
        EXPECT_EQ(run.steps("micro_batch_size"), runs[0].steps("micro_batch_size"));
    }
    auto const sizes = runs[0].steps("micro_batch_size");
    EXPECT_EQ(sizes.front(), 2);
    EXPECT_EQ(std::ranges::count(sizes, 4) > 0, true);
    auto const notices = notices_of(runs[0]);
    ASSERT_FALSE(notices.empty());
    EXPECT_TRUE(notices_of(runs[1]).empty());
    EXPECT_THAT(notices.front(), StartsWith("bucket 32x32x1: micro-batch 2 -> 4: "));
    EXPECT_THAT(notices.back(),
                ContainsRegex("Ended after [12] trials?: micro-batch [124], recomputed blocks 0, "
                              "steps take [01]\\.[0-9][0-9] of the planned setting's time"));

    // The next attempt uses what was found and tries nothing.
    auto const text = read_file(file());
    ASSERT_TRUE(text.has_value()) << text.error().message;
    auto const found = protocol::parse_json(*text)->at("buckets").at(0);
    EXPECT_EQ(found.at("bucket").as_string(), "32x32x1");
    EXPECT_EQ(found.at("micro_batch_size").to_number<double>(), sizes.back());
    auto more = tuned;
    more.config.train.steps = 120;
    more.config.checkpoint.resume = "auto";
    auto const again = run(more, 2);
    ASSERT_EQ(again[0].exit_code, 0);
    EXPECT_EQ(again[0].steps("micro_batch_size"), std::vector<double>(10, sizes.back()));
    EXPECT_TRUE(notices_of(again[0]).empty());

    // What was found with another plan may not fit.
    more.config.train.steps = 122;
    more.plan.predicted.memory_limit_gib = 3;
    auto const less = run(more, 2);
    ASSERT_EQ(less[0].exit_code, 0);
    EXPECT_THAT(notices_of(less[0]),
                testing::ElementsAre(testing::AllOf(HasSubstr("4.00 GiB CPU, this plan has "),
                                                    HasSubstr("; tuning starts anew"))));
    EXPECT_THAT(less[0].steps("micro_batch_size"), testing::Each(2));

    // A file that cannot be read is reported, and tuning starts anew.
    ASSERT_TRUE(write_file_atomic(file(), "{\"buckets\": [").has_value());
    more.config.train.steps = 124;
    auto const anew = run(more, 2);
    ASSERT_EQ(anew[0].exit_code, 0);
    EXPECT_THAT(notices_of(anew[0]), testing::ElementsAre(HasSubstr("; tuning starts anew")));
    EXPECT_THAT(anew[0].steps("micro_batch_size"), testing::Each(2));
}

/// Activations of all blocks do not fit under the cap: the step goes back to recomputing them, and
/// the run goes on.
TEST_F(ProgressiveTuning, WhatDoesNotFitCostsAStepOfTimeOnly) {
    auto full = job_of(1, 10, 16, 16);
    full.plan.chosen.recompute = "full";
    auto none = full;
    none.plan.chosen.recompute = "none";
    auto const of_full = fresh(full, 1)[0], of_none = fresh(none, 1)[0];
    ASSERT_EQ(of_full.exit_code, 0);
    auto const least = std::ranges::max(of_full.steps("peak_allocated_bytes"));
    auto const most = std::ranges::max(of_none.steps("peak_allocated_bytes"));
    ASSERT_GT(most, 1.1 * least);
    EXPECT_THAT(of_none.steps("recomputed_blocks"), testing::Each(0));
    EXPECT_THAT(of_full.steps("recomputed_blocks"), testing::Each(testing::Gt(0)));

    auto tuned = full;
    tuned.config.tune.progressive = true;
    double const cap = least + 0.3 * (most - least);
    tuned.config.memory.rank_memory_gib = tuned.plan.predicted.memory_limit_gib = cap / kGiB;
    auto const run = fresh(tuned, 1)[0];
    ASSERT_EQ(run.exit_code, 0);
    expect_equal_losses(run, of_full);
    auto const notices = notices_of(run);
    ASSERT_FALSE(notices.empty());
    EXPECT_THAT(
        notices.front(),
        ContainsRegex("bucket 32x32x1: recomputed blocks [0-9]+ -> 0: does not fit: .* asked "
                      "for.*; not kept"));
    EXPECT_LE(std::ranges::max(run.steps("peak_allocated_bytes")), cap);
    for (auto const& notice : run.of("notice")) EXPECT_NE(notice.at("kind"), "memory_retry");
}

}  // namespace
}  // namespace osora::tests
