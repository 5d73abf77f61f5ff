// Ranks on the CPU with memory.rank_memory_gib below what the planned micro-batches take: real
// workers, the cap of the counting allocator.
#include "base/files/files.hpp"
#include "protocol/json.hpp"
#include "tests/e2e_worker/worker_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

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
        auto made = job(ranks, 8);
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
