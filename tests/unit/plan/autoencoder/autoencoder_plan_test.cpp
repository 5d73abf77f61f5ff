// Plans of jobs that train an autoencoder: pieces by memory, batches, and what is refused.
#include "plan/autoencoder/autoencoder_memory.hpp"
#include "tests/unit/plan/requests.hpp"

#include <gmock/gmock.h>

namespace osora::plan {
namespace {

PlanRequest vae_request(std::string const& job, double memory_gib) {
    PlanRequest r = request(1);
    r.config.run.job = job;
    r.config.bucket = {{"256", 17, 1.0, {}}};
    r.config.batch.global_batch_size = 1;
    r.config.memory.rank_memory_gib = memory_gib;
    r.config.optim.precision = "fp32";
    return r;
}

std::string joined(PlanDecision const& decision) {
    std::string all;
    for (auto const& each : decision.reasons) all += each + "\n";
    return all;
}

// The field report: the published autoencoder at batch 1, 17 frames of 256 x 256.
TEST(AutoencoderPlan, BatchOneFitsInPieces) {
    auto r = vae_request("train_vae", 80);
    r.cluster.nodes[0].memory_bytes = std::int64_t{256} << 30;
    auto const whole = plan_of(r);
    EXPECT_GE(whole.chosen.vae_micro_batch_size, 17);
    EXPECT_THAT(joined(whole), testing::HasSubstr("fits without pieces"));

    r.config.memory.rank_memory_gib = 24.0;
    EXPECT_GT(whole.predicted.peak_memory_gib, 24);
    auto const cut = plan_of(r);
    EXPECT_LT(cut.predicted.peak_memory_gib, 24);
    EXPECT_LT(cut.chosen.vae_micro_batch_size, 17);
    EXPECT_GE(cut.chosen.vae_micro_batch_size, 1);
    EXPECT_EQ(cut.chosen.vae_micro_frame_size, 17);
    EXPECT_THAT(joined(cut), testing::ContainsRegex("fits: .* of 24.0 GiB a rank with "
                                                    "vae.micro_batch_size [0-9]+ \\(256 x 17\\); "
                                                    "without it"));
    EXPECT_THAT(joined(cut), testing::HasSubstr("time of a step is not predicted"));
    EXPECT_EQ(cut.predicted.step_time_s, 0);
}

// Most clips are 256 x 256, some 288 x 256: these must fit, too.
TEST(AutoencoderPlan, MemoryIsThatOfTheLargestShape) {
    auto const bytes_with = [](BucketClips const& clips) {
        auto r = vae_request("train_vae", 80);
        r.clips = ClipStatistics{.buckets = {clips}, .clip_pixels_max = 0};
        return autoencoder_memory(plan_context(r).value(), 0, 1, {}).total_bytes();
    };
    auto const bytes_of = [&](int height) {
        return bytes_with(
            {.clips = 1, .height = height, .width = 256, .height_max = height, .width_max = 256});
    };
    auto const largest = bytes_of(288);
    EXPECT_GT(largest, bytes_of(256));
    BucketClips const mixed{
        .clips = 9, .height = 256, .width = 256, .height_max = 288, .width_max = 256};
    EXPECT_EQ(bytes_with(mixed), largest);
}

TEST(AutoencoderPlan, SmallerPiecesNeverTakeMore) {
    auto const r = vae_request("train_vae", 80);
    auto const context = plan_context(r);
    ASSERT_TRUE(context.has_value());
    std::int64_t before = 0;
    for (int const frames : {1, 2, 4, 8, 16}) {
        auto const bytes = autoencoder_memory(*context, 0, 1, {frames, 17}).total_bytes();
        EXPECT_LE(before, bytes);
        before = bytes;
    }
    EXPECT_LT(before, autoencoder_memory(*context, 0, 1, {}).total_bytes());
}

TEST(AutoencoderPlan, WhatCannotFitSaysWhatTheSmallestPiecesNeed) {
    auto const refused = make_plan(vae_request("train_vae", 2));
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, Errc::out_of_memory);
    EXPECT_THAT(refused.error().message,
                testing::AllOf(testing::HasSubstr("bucket 256 x 17: needs"),
                               testing::HasSubstr("vae.micro_batch_size 1")));
}

TEST(AutoencoderPlan, NamesWhatLimitsTheLoader) {
    auto r = vae_request("train_vae", 80);
    r.cluster.nodes[0].memory_bytes = std::int64_t{256} << 30;
    r.config.data.host_memory_gib = 0.001;
    EXPECT_THAT(make_plan(r).error().message,
                testing::HasSubstr("data.host_memory_gib = 0.001: loader needs"));
    // Two batches of a clip and a decoder, which the training's loader must leave.
    r.config.data.eval_manifest = "held-out.csv";
    EXPECT_THAT(make_plan(r).error().message,
                testing::ContainsRegex("data.host_memory_gib = 0.001, [0-9.]+ MiB a rank of it for "
                                       "data.eval_manifest: loader needs"));
}

TEST(AutoencoderPlan, AUsersPiecesAreKept) {
    auto r = vae_request("train_vae", 80);
    r.config.vae.arch = "tiny";
    r.config.vae.micro_batch_size = 3;
    r.config.vae.micro_frame_size = 5;
    auto const decision = plan_of(r);
    EXPECT_EQ(decision.chosen.vae_micro_batch_size, 3);
    EXPECT_EQ(decision.chosen.vae_micro_frame_size, 5);
    EXPECT_THAT(joined(decision), testing::HasSubstr("(set by you)"));
}

TEST(AutoencoderPlan, AVqvaeIsCutInTime) {
    auto r = vae_request("train_vqvae", 80);
    r.config.bucket = {{"128", 32, 1.0, {}}};
    r.cluster.nodes[0].memory_bytes = std::int64_t{256} << 30;
    auto const whole = plan_of(r);
    EXPECT_EQ(whole.chosen.vae_micro_frame_size, 0);
    r.config.memory.rank_memory_gib = whole.predicted.peak_memory_gib / 2;
    auto const cut = plan_of(r);
    EXPECT_GT(cut.chosen.vae_micro_frame_size, 0);
    EXPECT_EQ(cut.chosen.vae_micro_frame_size % 4, 0);
    EXPECT_THAT(joined(cut), testing::HasSubstr("vae.micro_frame_size"));
    EXPECT_THAT(joined(cut), testing::HasSubstr("a separate clip"));
}

TEST(AutoencoderPlan, BatchesAreSharedByRanksAndBuckets) {
    auto r = vae_request("train_vqvae", 80);
    r.config.resources.gpus_per_node = 2;
    r.config.batch.global_batch_size = {};
    r.config.vqvae.n_hiddens = 16;
    r.config.bucket = {{"64", 8, 0.5, {}}, {"32", 8, 1.0, {}}};
    auto const decision = plan_of(r);
    ASSERT_EQ(decision.chosen.buckets.size(), 2u);
    EXPECT_EQ(decision.chosen.buckets[0].global_batch_size, 4);
    EXPECT_EQ(decision.chosen.buckets[1].global_batch_size, 16);  // a quarter of the pixels
    for (auto const& bucket : decision.chosen.buckets)
        EXPECT_EQ(bucket.micro_batch_size * bucket.grad_accum_steps * 2, bucket.global_batch_size);
}

TEST(AutoencoderPlan, RulesAreNamedWithTheNearestValue) {
    auto const first_problem = [](PlanRequest const& r) {
        auto const found = make_plan(r);
        return found.has_error() ? found.error().message : std::string();
    };
    auto r = vae_request("train_vqvae", 80);
    EXPECT_EQ(first_problem(r),
              "bucket[0].num_frames: is no multiple of vqvae.downsample_frames = 4; nearest valid: "
              "16, 20");
    r.config.bucket[0].num_frames = 16;
    r.config.vqvae.downsample_pixels = 6;
    EXPECT_EQ(first_problem(r),
              "vqvae.downsample_pixels: must be a power of two; nearest valid: 4, 8");
    r = vae_request("train_vae", 80);
    r.config.vae_loss.real_rec = false;
    EXPECT_THAT(first_problem(r), testing::HasSubstr("vae_loss.real_rec"));
    r = vae_request("train_vae", 80);
    r.config.vae_loss.adversarial_weight = 0.5;
    r.config.bucket[0].num_frames = 9;
    EXPECT_THAT(first_problem(r), testing::HasSubstr("at least 10 frames"));
}

}  // namespace
}  // namespace osora::plan
