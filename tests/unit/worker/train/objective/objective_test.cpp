// What objectives make of a micro-batch, against the parts of the training step that are compared
// with Open-Sora's own numbers (tests/parity), put together here by hand.
#include "tests/parity/compare.hpp"
#include "worker/train/objective/caption_drop.hpp"
#include "worker/train/objective/mmdit_objective.hpp"
#include "worker/train/objective/rectified_flow_v2.hpp"
#include "worker/train/objective/stdit3_objective.hpp"

#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>

namespace osora::worker {
namespace {

constexpr std::uint64_t kSeed = 11;

std::uint64_t key_of(SampleIdentity const& sample, RngPurpose purpose) {
    return sample_key(kSeed, sample.epoch, sample.id, purpose);
}

MicroBatch batch_of(std::vector<std::uint64_t> const& ids) {
    MicroBatch batch;
    auto const count = static_cast<std::int64_t>(ids.size());
    batch.x = at::randn({count, 3, 4, 8, 8});
    batch.size = {8, 8, 4};
    for (std::uint64_t const id : ids) batch.samples.push_back({.id = id, .epoch = 2, .fps = 12});
    return batch;
}

void add_captions(MicroBatch& batch) {
    std::int64_t const count = batch.x.size(0);
    batch.text = at::randn({count, 5, 32});
    batch.text_mask = torch::tensor({1, 1, 1, 0, 0}).repeat({count, 1});
    batch.pooled = at::randn({count, 24});
}

Stdit3 stdit3() {
    Stdit3 model(stdit3_config("stdit3-tiny").value());
    model.initialise(3);
    return model;
}

Mmdit mmdit() {
    Mmdit model(mmdit_config("mmdit-tiny").value());
    model.initialise(3);
    return model;
}

/// Open-Sora v1.2's step with these captions dropped and these frames noised.
double stdit3_by_hand(MicroBatch const& batch, RectifiedFlowConfig const& flow,
                      at::Tensor const& drop, at::Tensor const& x_mask) {
    std::vector<std::uint64_t> noise_keys;
    std::vector<double> times;
    for (auto const& sample : batch.samples) {
        noise_keys.push_back(key_of(sample, RngPurpose::noise));
        times.push_back(
            sample_timestep(flow, batch.size, SampleRng(key_of(sample, RngPurpose::timestep))));
    }
    at::Tensor const t = torch::tensor(times, at::kFloat);
    at::Tensor const noise = sample_noise(noise_keys, batch.x.sizes().slice(1));
    Stdit3Input input;
    input.x = add_noise(flow, batch.x, noise, t, x_mask);
    input.timestep = t;
    input.fps = torch::full({batch.x.size(0)}, 12.0);
    input.height_px = input.width_px = 8;
    if (batch.text.defined()) input.y = batch.text.unsqueeze(1);
    input.y_mask = batch.text_mask;
    input.drop = drop;
    input.x_mask = x_mask;
    return flow_losses(stdit3().forward(input), batch.x, noise, x_mask).mean().item<double>();
}

TEST(Stdit3Objective, CaptionsDroppedAndShiftedTimes) {
    torch::NoGradGuard const no_grad;
    MicroBatch batch = batch_of({5, 6, 7});
    add_captions(batch);
    Stdit3Training training;
    training.seed = kSeed;
    training.flow.sampling = TimestepSampling::logit_normal;
    training.flow.use_timestep_transform = true;
    training.flow.latent_frames = LatentFrames::pixels;
    std::vector<double> losses;
    for (double const probability : {0.0, 0.5, 1.0}) {
        training.caption_drop_prob = probability;
        at::Tensor const drop = torch::zeros({3}, at::kBool);
        for (std::int64_t i = 0; i < 3; ++i) {
            SampleRng rng(
                key_of(batch.samples[static_cast<std::size_t>(i)], RngPurpose::caption_drop));
            drop[i] = rng.uniform() < probability;
        }
        Stdit3Objective objective(stdit3(), training);
        losses.push_back(objective.loss(batch).item<double>());
        EXPECT_NEAR(losses.back(), stdit3_by_hand(batch, training.flow, drop, {}), kFp32Loss);
    }
    EXPECT_NE(losses[0], losses[2]);
}

TEST(Stdit3Objective, GivenFramesAreNotTrainedOn) {
    torch::NoGradGuard const no_grad;
    MicroBatch const batch = batch_of({5, 6});
    Stdit3Training training;
    training.seed = kSeed;
    training.frame_masks = MaskMixture::make({{MaskStrategy::image_head, 1.0}}).value();
    Stdit3Objective objective(stdit3(), training);
    at::Tensor const mask = torch::tensor({false, true, true, true}).repeat({2, 1});
    EXPECT_NEAR(objective.loss(batch).item<double>(),
                stdit3_by_hand(batch, training.flow, {}, mask), kFp32Loss);
}

TEST(Stdit3Objective, MasksBelongToTheSample) {
    torch::NoGradGuard const no_grad;
    MicroBatch const batch = batch_of({5, 6, 7, 8, 9, 10});
    Stdit3Training training;
    training.seed = kSeed;
    training.frame_masks =
        MaskMixture::make({{MaskStrategy::random, 0.5}, {MaskStrategy::image_tail, 0.3}}).value();
    at::Tensor const masks = torch::ones({6, 4}, at::kBool);
    for (std::int64_t i = 0; i < 6; ++i) {
        SampleRng rng(key_of(batch.samples[static_cast<std::size_t>(i)], RngPurpose::frame_mask));
        auto const mask = training.frame_masks->draw(4, draws_from(rng)).value();
        for (std::int64_t frame = 0; frame < 4; ++frame)
            masks[i][frame] = static_cast<bool>(mask[static_cast<std::size_t>(frame)]);
    }
    EXPECT_LT(masks.sum().item<std::int64_t>(), 24);
    Stdit3Objective objective(stdit3(), training);
    EXPECT_NEAR(objective.loss(batch).item<double>(),
                stdit3_by_hand(batch, training.flow, {}, masks), kFp32Loss);
    // Halves of the batch, as two ranks have them, are the whole.
    double halves = 0;
    for (std::int64_t const begin : {0, 3}) {
        MicroBatch half = batch;
        half.x = batch.x.narrow(0, begin, 3);
        half.samples = {batch.samples.begin() + begin, batch.samples.begin() + begin + 3};
        halves += objective.loss(half).item<double>() / 2;
    }
    EXPECT_NEAR(halves, objective.loss(batch).item<double>(), kFp32Loss);
}

/// Open-Sora v2.0's step with these captions.
double mmdit_by_hand(MicroBatch const& batch, at::Tensor const& text, at::Tensor const& pooled) {
    std::vector<std::uint64_t> keys;
    std::vector<double> normals;
    for (auto const& sample : batch.samples) {
        keys.push_back(key_of(sample, RngPurpose::noise));
        normals.push_back(SampleRng(key_of(sample, RngPurpose::timestep)).normal());
    }
    at::Tensor const x_0 = pack_latent(batch.x, 4);
    at::Tensor const noise = sample_noise(keys, x_0.sizes().slice(1));
    MmditInput input;
    input.timesteps = shifted_times(torch::tensor(normals, at::kFloat), shift_alpha({4, 8, 8}));
    input.img = noised_tokens(x_0, noise, input.timesteps);
    input.img_ids = latent_ids(batch.x.size(0), {4, 8, 8}, 4);
    input.txt = text;
    input.txt_ids = at::zeros({text.size(0), text.size(1), 3});
    input.y_vec = pooled;
    return velocity_loss(mmdit().forward(input), velocity_target(x_0, noise)).item<double>();
}

TEST(MmditObjective, IsTheTrainingStepOfOpenSora) {
    torch::NoGradGuard const no_grad;
    MicroBatch batch = batch_of({5, 6, 7});
    MmditTraining training;
    training.seed = kSeed;
    training.text_tokens = 8;
    EXPECT_NEAR(MmditObjective(mmdit(), training).loss(batch).item<double>(),
                mmdit_by_hand(batch, at::zeros({3, 8, 32}), at::zeros({3, 24})), kFp32Loss);
    add_captions(batch);
    double const kept = MmditObjective(mmdit(), training).loss(batch).item<double>();
    EXPECT_NEAR(kept, mmdit_by_hand(batch, batch.text, batch.pooled), kFp32Loss);
    training.caption_drop_prob = 1;
    double const dropped = MmditObjective(mmdit(), training).loss(batch).item<double>();
    EXPECT_NEAR(dropped,
                mmdit_by_hand(batch, at::zeros_like(batch.text), at::zeros_like(batch.pooled)),
                kFp32Loss);
    EXPECT_NE(kept, dropped);
}

TEST(MmditObjective, ADroppedCaptionIsTheEmbeddedNullCaption) {
    torch::NoGradGuard const no_grad;
    MicroBatch batch = batch_of({5, 6, 7});
    MmditTraining training;
    training.seed = kSeed;
    training.caption_drop_prob = 1;
    training.text_tokens = 8;
    for (std::int64_t const tokens : {2, 9}) {  // fewer than the captions have, and more
        training.null = {at::randn({tokens, 32}), at::randn({24})};
        auto const null_text = [&](std::int64_t length) {
            std::int64_t const rows = std::min(tokens, length);
            at::Tensor const text = at::zeros({3, length, 32});
            text.narrow(1, 0, rows).copy_(training.null.text.narrow(0, 0, rows));
            return text;
        };
        at::Tensor const pooled = training.null.pooled.expand({3, 24});
        batch.text = at::Tensor();
        batch.pooled = at::Tensor();
        EXPECT_NEAR(MmditObjective(mmdit(), training).loss(batch).item<double>(),
                    mmdit_by_hand(batch, null_text(8), pooled), 1e-6);
        add_captions(batch);
        EXPECT_NEAR(MmditObjective(mmdit(), training).loss(batch).item<double>(),
                    mmdit_by_hand(batch, null_text(5), pooled), 1e-6);
    }
}

TEST(MmditObjective, TextAndPooledVectorAreDroppedIndependently) {
    torch::NoGradGuard const no_grad;
    MicroBatch batch = batch_of({1, 2, 3, 4, 5, 6});
    add_captions(batch);
    MmditTraining training;
    training.seed = kSeed;
    training.caption_drop_prob = 0.5;
    at::Tensor const text = batch.text.clone(), pooled = batch.pooled.clone();
    for (std::int64_t i = 0; i < 6; ++i) {
        SampleRng rng(key_of(batch.samples[static_cast<std::size_t>(i)], RngPurpose::caption_drop));
        if (rng.uniform() < 0.5) text[i].zero_();
        if (rng.uniform() < 0.5) pooled[i].zero_();
    }
    EXPECT_NEAR(MmditObjective(mmdit(), training).loss(batch).item<double>(),
                mmdit_by_hand(batch, text, pooled), kFp32Loss);
}

TEST(MmditObjective, EveryWeightLearns) {
    MicroBatch batch = batch_of({5, 6});
    add_captions(batch);
    MmditTraining training;
    training.text_tokens = 8;
    MmditObjective objective(mmdit(), training);
    objective.loss(batch).backward();
    for (auto const& [name, tensor, kind] : objective.parameters().all()) {
        ASSERT_TRUE(tensor.grad().defined()) << name;
        EXPECT_TRUE(tensor.grad().isfinite().all().item<bool>()) << name;
    }
}

TEST(CaptionDrop, AsOftenAsAskedAndIndependently) {
    std::vector<SampleIdentity> samples;
    for (std::uint64_t id = 0; id < 20000; ++id) samples.push_back({.id = id, .epoch = id % 7});
    auto const drop = draw_caption_drop(samples, kSeed, 0.316, 2);
    double first = 0, second = 0, both = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        first += drop[0][i] ? 1 : 0;
        second += drop[1][i] ? 1 : 0;
        both += drop[0][i] && drop[1][i] ? 1 : 0;
    }
    double const count = static_cast<double>(samples.size());
    double const sigma = std::sqrt(0.316 * 0.684 / count);
    EXPECT_NEAR(first / count, 0.316, 4 * sigma);
    EXPECT_NEAR(second / count, 0.316, 4 * sigma);
    EXPECT_NEAR(both / count, 0.316 * 0.316, 4 * sigma);
    EXPECT_EQ(draw_caption_drop({samples[7]}, kSeed, 0.316, 2)[1][0], drop[1][7]);
    EXPECT_FALSE(drop_tensor({false, false}, at::kCPU).defined());
}

}  // namespace
}  // namespace osora::worker
