// Ranks on the CPU with memory.rank_memory_gib below what the planned micro-batches take: real
// workers, the cap of the counting allocator.
#include "base/files/files.hpp"
#include "protocol/json.hpp"
#include "tests/e2e_worker/worker_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

namespace osora::tests {
namespace {

namespace fs = std::filesystem;

constexpr double kGiB = 1 << 30;

class Memory : public WorkerTest {
protected:
    void SetUp() override {
        WorkerTest::SetUp();
        make_clips(6, [](int i) { return i % 2 == 0 ? "64x64" : "96x64"; });
    }
    std::vector<WorkerRun> fresh(plan::WorkerJob const& job, int ranks) {
        fs::remove_all(folder_ / "run dir");
        fs::create_directories(folder_ / "run dir");
        return run(job, ranks);
    }
    /// Video in passes of `size` samples.
    plan::WorkerJob videos_of(int ranks, int size) const {
        auto made = job(ranks, 6);
        for (auto& bucket : made.plan.chosen.buckets) {
            if (bucket.num_frames > 1) bucket.global_batch_size = 4 * ranks;
            bucket.micro_batch_size =
                bucket.num_frames > 1 ? size : bucket.global_batch_size / ranks;
            bucket.peak_memory_gib = 0.25;
        }
        return made;
    }
};

/// Highest of all ranks and steps, bytes.
double peak_of(std::vector<WorkerRun> const& runs) {
    double peak = 0;
    for (WorkerRun const& each : runs) {
        auto const peaks = each.steps("peak_allocated_bytes");
        if (!peaks.empty()) peak = std::max(peak, std::ranges::max(peaks));
    }
    return peak;
}

std::vector<boost::json::object> retries_of(std::vector<WorkerRun> const& runs) {
    std::vector<boost::json::object> found;
    for (WorkerRun const& each : runs)
        for (auto const& notice : each.of("notice"))
            if (notice.at("kind").as_string() == "memory_retry") found.push_back(notice);
    return found;
}

/// Mixed buckets of which the video ones do not fit as planned: the run continues in smaller passes
/// and ends with the losses of a run that had these from the start.
TEST_F(Memory, MixedBucketsCompleteUnderACap) {
    for (int const ranks : {1, 2}) {
        SCOPED_TRACE(ranks);
        auto const large = fresh(videos_of(ranks, 4), ranks);
        auto const small = fresh(videos_of(ranks, 1), ranks);
        ASSERT_EQ(large[0].exit_code, 0);
        double const most = peak_of(large), least = peak_of(small);
        ASSERT_GT(least, 1e6);
        ASSERT_GT(most, 1.1 * least);
        auto capped = videos_of(ranks, 4);
        capped.config.memory.rank_memory_gib = (least + 0.2 * (most - least)) / kGiB;
        auto const guarded = fresh(capped, ranks);
        auto const retries = retries_of(guarded);
        ASSERT_GE(retries.size(), 2u);
        auto const detail = std::string(retries[0].at("detail").as_string());
        EXPECT_THAT(detail, testing::ContainsRegex("bucket [0-9x]+: micro-batch 4 -> 2 from here "
                                                   "on: .* asked for, .* in use; the plan said"));
        EXPECT_EQ(retries[0].at("severity").as_string(), "warning");
        for (int rank = 0; rank < ranks; ++rank) {
            auto const& run = guarded[static_cast<std::size_t>(rank)];
            ASSERT_EQ(run.exit_code, 0);
            auto const expected = small[static_cast<std::size_t>(rank)].steps("loss");
            auto const got = run.steps("loss");
            ASSERT_EQ(got.size(), expected.size());
            for (std::size_t i = 0; i < got.size(); ++i)
                EXPECT_NEAR(got[i], expected[i], 1e-5 * expected[i]) << i;
        }
        EXPECT_LT(peak_of(guarded), most);
        auto const file = detail.substr(detail.rfind("; ") + 2);
        auto const text = read_file(file);
        ASSERT_TRUE(text.has_value()) << text.error().message;
        auto const report = protocol::parse_json(*text);
        ASSERT_TRUE(report.has_value());
        EXPECT_GT(report->at("asked_bytes").as_int64(), 0);
        EXPECT_GT(report->at("cap_bytes").as_int64(), report->at("allocated_bytes").as_int64());
        EXPECT_FALSE(report->at("largest_block_bytes").as_array().empty());
    }
}

/// A line of a table: how a run ended, and the peak of each bucket.
void print_run(char const* name, WorkerRun const& run) {
    std::map<std::string, double> peaks;
    auto const steps = run.of("step");
    for (auto const& step : steps) {
        double& peak = peaks[std::string(step.at("bucket").as_string())];
        peak = std::max(peak, step.at("peak_allocated_bytes").to_number<double>());
    }
    std::printf("%-16s exit %2d, %2zu steps;", name, run.exit_code, steps.size());
    for (auto const& [bucket, peak] : peaks)
        std::printf("  %s %.1f MiB", bucket.c_str(), peak / (1 << 20));
    std::printf("\n");
}

/// Attention that keeps all scores needs more in the bucket with the larger pictures alone, so the
/// run ends when that bucket comes; with the guard, or with fused attention, it completes.
TEST_F(Memory, UnfusedAttentionEndsMixedBucketsWithoutTheGuard) {
    make_clips(12, [](int i) { return i % 4 == 3 ? "160x160" : "32x32"; });
    auto fused = job(1, 6);
    for (std::size_t i = 0; i < 2; ++i) {  // pictures of 1,600 and of 64 tokens
        auto& asked = fused.config.bucket[i];
        auto& planned = fused.plan.chosen.buckets[i];
        asked.resolution = planned.resolution = i == 0 ? "160" : "32";
        asked.num_frames = planned.num_frames = i == 0 ? 1 : 4;
        asked.keep_prob = 1;
        planned.global_batch_size = planned.micro_batch_size = 2;
    }
    auto unfused = fused;
    unfused.config.debug.attention = "unfused";
    auto const of_unfused = fresh(unfused, 1)[0];
    auto const peaks = of_unfused.steps("peak_allocated_bytes");
    ASSERT_EQ(peaks.size(), 6u);
    double const cap = std::ranges::max(peaks) * 2 / 3;
    auto const first = std::ranges::find_if(peaks, [&](double peak) { return peak > cap; });
    ASSERT_NE(first, peaks.begin());  // else it shows nothing about mixed buckets
    fused.config.memory.rank_memory_gib = unfused.config.memory.rank_memory_gib = cap / kGiB;

    unfused.config.debug.memory_guard = false;
    auto const ended = fresh(unfused, 1);
    EXPECT_EQ(ended[0].exit_code, 12);
    EXPECT_EQ(ended[0].steps("loss").size(), static_cast<std::size_t>(first - peaks.begin()));
    EXPECT_TRUE(retries_of(ended).empty());

    unfused.config.debug.memory_guard = true;
    auto const guarded = fresh(unfused, 1);
    EXPECT_EQ(guarded[0].exit_code, 0);
    EXPECT_FALSE(retries_of(guarded).empty());
    EXPECT_LE(peak_of(guarded), cap);

    auto const fits = fresh(fused, 1);
    EXPECT_EQ(fits[0].exit_code, 0);
    EXPECT_TRUE(retries_of(fits).empty());
    EXPECT_LT(peak_of(fits), 0.5 * std::ranges::max(peaks));
    std::printf("cap %.1f MiB\n", cap / (1 << 20));
    print_run("unfused, no cap", of_unfused);
    print_run("unfused", ended[0]);
    print_run("unfused, guarded", guarded[0]);
    print_run("fused", fits[0]);
    for (auto const* each : {&guarded[0], &fits[0]}) {
        auto const losses = each->steps("loss"), expected = of_unfused.steps("loss");
        ASSERT_EQ(losses.size(), expected.size());
        for (std::size_t i = 0; i < losses.size(); ++i)
            EXPECT_NEAR(losses[i], expected[i], 1e-4 * expected[i]) << i;
    }
}

TEST_F(Memory, WhatNeverFitsEndsAllRanksWithTwelve) {
    auto hopeless = videos_of(2, 2);
    hopeless.config.memory.rank_memory_gib = 0.001;
    auto const ended = fresh(hopeless, 2);
    for (WorkerRun const& each : ended) {
        EXPECT_EQ(each.exit_code, 12);
        auto const failed = each.of("failed");
        ASSERT_EQ(failed.size(), 1u);
        auto const message = std::string(failed[0].at("message").as_string());
        EXPECT_THAT(message, testing::ContainsRegex("step 0, bucket [0-9x]+, micro-batch 1: "));
        EXPECT_THAT(message, testing::HasSubstr("the plan said 256 MiB, the peak was "));
        EXPECT_THAT(message, testing::EndsWith("try memory.activation_store = \"int8\" with "
                                               "memory.allow_lossy = true"));
    }
    EXPECT_TRUE(fs::exists(folder_ / "run dir" / "memory" / "rank-1-step-0.json"));
}

}  // namespace
}  // namespace osora::tests
