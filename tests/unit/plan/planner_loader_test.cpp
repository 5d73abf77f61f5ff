// What a plan says of the loader: its memory, and what it assumes of clips.
#include "plan/buckets/loader_memory.hpp"
#include "plan/planner.hpp"
#include "tests/unit/plan/requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace osora::plan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string loader_error(PlanRequest const& r) {
    auto const decision = make_plan(r);
    EXPECT_TRUE(decision.has_error());
    if (decision) return {};
    EXPECT_EQ(decision.error().code, Errc::out_of_memory);
    return decision.error().message;
}

TEST(Planner, LoaderStaysInItsBudget) {
    PlanRequest r = request(2);
    r.clips = ClipStatistics{.buckets = {}, .clip_pixels_max = 1920 * 1080};
    r.config.data.host_memory_gib = 0.3;
    PlanDecision const decision = plan_of(r);
    EXPECT_LE(decision.chosen.num_workers, 2);
    r.config.data.num_workers = 8;
    EXPECT_THAT(loader_error(r), HasSubstr("num_workers "));
    // The limit in the message is of a rank: half of what is given.
    EXPECT_THAT(loader_error(r),
                HasSubstr("data.host_memory_gib = 0.3 for the 2 ranks of a node: loader needs"));
    EXPECT_THAT(loader_error(r), HasSubstr("the host memory limit is 154 MiB"));
}

// A batch has clips of one shape: most are 48 x 48, some 64 x 48.
TEST(Planner, LoaderHasRoomForTheLargestShape) {
    PlanRequest r = request(1);
    r.config.bucket = {{"48", 4, 1.0, {}}};
    r.config.batch.global_batch_size = 64;
    r.config.data.num_workers = 0;
    BucketClips clips{.clips = 100, .height = 48, .width = 48};
    r.clips = ClipStatistics{.buckets = {clips}, .clip_pixels_max = 4096};
    auto const common = 2 * batch_bytes({48, 48, 4}, 64) + decoder_bytes(4096);
    r.config.data.host_memory_gib = static_cast<double>(common + 4096) / (1 << 30);
    EXPECT_EQ(plan_of(r).chosen.num_workers, 0);
    clips.height_max = 64;
    clips.width_max = 48;
    r.clips = ClipStatistics{.buckets = {clips}, .clip_pixels_max = 4096};
    EXPECT_THAT(loader_error(r), HasSubstr("2 batches of 2.25 MiB"));  // 64 x 4 x 64 x 48 x 3
}

TEST(Planner, SaysThatSizesOfClipsAreAssumed) {
    PlanRequest r = request(1);
    EXPECT_THAT(plan_of(r).reasons, Contains(HasSubstr("640 x 360 assumed: osora data index")));
    r.clips = ClipStatistics{.buckets = {}, .clip_pixels_max = 1920 * 1080};
    EXPECT_THAT(plan_of(r).reasons, Not(Contains(HasSubstr("640 x 360 assumed"))));
}

// It has batches and a decoder of its own, while those of the training's loader wait.
TEST(Planner, LeavesMemoryForTheLoaderOfEvaluations) {
    PlanRequest r = request(2);
    r.cluster.nodes[0].memory_bytes = std::int64_t{64} << 30;
    r.config.batch.global_batch_size = 64;
    r.clips = ClipStatistics{.buckets = {}, .clip_pixels_max = 1920 * 1080};
    PlanDecision const without = plan_of(r);
    r.config.data.eval_manifest = "held-out.csv";
    PlanDecision const with = plan_of(r);
    std::int64_t slot_bytes = 0;
    for (std::size_t i = 0; i < with.chosen.buckets.size(); ++i) {
        BucketPlan const& bucket = with.chosen.buckets[i];
        EXPECT_EQ(bucket.micro_batch_size, without.chosen.buckets[i].micro_batch_size);
        BucketKey const key{bucket.height, bucket.width, bucket.num_frames};
        slot_bytes = std::max(slot_bytes, batch_bytes(key, bucket.micro_batch_size));
    }
    // On each of two ranks.
    auto const bytes = static_cast<double>(2 * (2 * slot_bytes + decoder_bytes(1920 * 1080)));
    EXPECT_NEAR(with.predicted.host_memory_gib - without.predicted.host_memory_gib,
                bytes / (1 << 30), 1e-6);
    // 154 MiB a rank: two decoders of 67 MiB fit, a third one does not.
    r.config.data.host_memory_gib = 0.3;
    r.config.data.num_workers = 2;
    EXPECT_THAT(loader_error(r), HasSubstr(" a rank of it for data.eval_manifest: loader needs"));
    r.config.data.eval_manifest = "";
    EXPECT_EQ(plan_of(r).chosen.num_workers, 2);
}

}  // namespace
}  // namespace osora::plan
