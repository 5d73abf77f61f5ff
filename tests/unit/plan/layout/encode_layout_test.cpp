// Plans of encode runs, and of training from what they made.
#include "plan/layout/encode_layout.hpp"

#include "plan/vae/vae_memory.hpp"
#include "tests/unit/plan/requests.hpp"

#include <gmock/gmock.h>

namespace osora::plan {
namespace {

using testing::Contains;
using testing::HasSubstr;

PlanRequest encode_request(int ranks) {
    PlanRequest r = request(ranks);
    r.config.run.job = "encode";
    r.config.encode.out = "cache";
    r.config.vae.arch = "tiny";
    r.config.bucket = {{"64", 51, 0.6, {}}, {"64", 1, 1.0, {}}};
    return r;
}

TEST(EncodePlan, TakesAsManyShortClipsAtOnceAsTheAutoencoderTakesFrames) {
    auto const decision = plan_of(encode_request(2));
    ASSERT_EQ(decision.chosen.buckets.size(), 2u);
    EXPECT_EQ(decision.chosen.buckets[0].micro_batch_size, 1);
    EXPECT_EQ(decision.chosen.buckets[1].micro_batch_size, 17);
    EXPECT_EQ(decision.chosen.dp_size, 2);
    EXPECT_EQ(decision.chosen.vae_micro_batch_size, 4);
    // Behind 8 x 8 compression, patches of 4: sides are multiples of 32.
    EXPECT_EQ(decision.chosen.buckets[0].height % 32, 0);
    EXPECT_EQ(decision.predicted.step_time_s, 0);
    auto yours = encode_request(1);
    yours.config.bucket[1].micro_batch_size = {3};
    EXPECT_EQ(plan_of(yours).chosen.buckets[1].micro_batch_size, 3);
}

TEST(EncodePlan, FramesAtOnceFollowTheMemoryOfTheGpu) {
    auto r = encode_request(1);
    r.config.vae.arch = "opensora-v1.2";
    r.config.model.arch = "stdit3-xl/2";
    r.config.bucket = {{"720p", 17, 1.0, {}}};
    r.cluster.nodes[0].gpus.resize(1);
    auto const bytes = [](int frames) {
        VaePipelineConfig vae;
        vae.micro_batch_size = frames;
        return 4 * encode_peak(vae, {.clips = 1, .frames = 17, .height = 720, .width = 1280});
    };
    auto const frames_with = [&](std::int64_t memory) {
        r.cluster.nodes[0].gpus[0].memory_bytes = memory;
        return plan_of(r).chosen.vae_micro_batch_size;
    };
    EXPECT_EQ(frames_with(2 * bytes(4)), 4);
    EXPECT_EQ(frames_with(bytes(4)), 2);  // a plan fills 92 %
    EXPECT_EQ(frames_with(bytes(2)), 1);
    r.cluster.nodes[0].gpus[0].memory_bytes = bytes(1) / 2;
    auto const none = make_plan(r);
    ASSERT_TRUE(none.has_error());
    EXPECT_EQ(none.error().code, Errc::out_of_memory);
    EXPECT_THAT(none.error().message, HasSubstr("tile_sample_min_size"));
}

TEST(EncodePlan, CachedLatentsAreWhatTheModelIsPlannedFor) {
    PlanRequest r = request(1);
    r.config.data.manifest = "";
    r.config.data.latents = "cache";
    r.config.model.in_channels = 4;
    r.config.model.patch_size = 2;
    r.config.bucket = {{"256", 17, 1.0, {}}};
    PlanRequest pixels = r;
    r.latents = VaeShape{.temporal = 4, .spatial = 8, .chunk_frames = 17};
    ClipStatistics clips;
    clips.buckets = {{.clips = 100, .height = 256, .width = 256}};
    r.clips = pixels.clips = clips;
    auto const cached = plan_of(r);
    EXPECT_EQ(cached.chosen.num_workers, 0);  // nothing is decoded
    EXPECT_THAT(cached.reasons, Contains(HasSubstr("maps cached latents")));
    // 5 x 16 x 16 tokens a sample, in pixel space 17 x 128 x 128.
    auto const per_sample = [](PlanDecision const& plan) {
        return plan.chosen.buckets[0].gflop_per_sample;
    };
    pixels.cluster.nodes[0].memory_bytes *= 100;
    EXPECT_GT(per_sample(plan_of(pixels)), 100 * per_sample(cached));
    EXPECT_LT(cached.predicted.peak_memory_gib, 4);
}

}  // namespace
}  // namespace osora::plan
