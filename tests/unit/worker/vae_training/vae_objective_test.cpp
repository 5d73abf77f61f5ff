// The objective of train_vae against the pipeline (which is checked against Open-Sora's own code)
// and its loss, and in pieces against the whole.
#include "worker/vae_training/vae_objective.hpp"

#include "plan/config/sections/optim_section.hpp"
#include "worker/train/objective/rectified_flow.hpp"
#include "worker/train/sample_rng.hpp"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace osora::worker {
namespace {

constexpr std::uint64_t kSeed = 5;

VaePipelineConfig small(std::int64_t micro_batch_size, std::int64_t micro_frame_size) {
    VaePipelineConfig config = plan::vae_sizes("tiny").value();
    config.micro_batch_size = micro_batch_size;
    config.micro_frame_size = micro_frame_size;
    return config;
}

MicroBatch clips(std::int64_t count, std::int64_t frames, std::int64_t side = 32) {
    MicroBatch batch;
    batch.x = at::randn({count, 3, frames, side, side}).tanh();
    batch.size = {static_cast<double>(side), static_cast<double>(side), frames};
    for (std::int64_t i = 0; i < count; ++i)
        batch.samples.push_back({.id = static_cast<std::uint64_t>(40 + i), .epoch = 2, .fps = 24});
    return batch;
}

VaeObjective objective(VaePipelineConfig const& config, plan::VaeLossSection const& loss = {},
                       bool perceptual = false) {
    at::TensorOptions const options(at::kDouble);
    VaePipeline vae(config, options);
    vae.initialise(kSeed);
    VaeObjective::Parts parts{std::move(vae), nullptr, nullptr, {}};
    if (perceptual) {
        at::manual_seed(3);
        parts.perceptual = std::make_unique<Perceptual>(options);
        auto& all = parts.perceptual->parameters;
        at::NoGradGuard const no_grad;
        for (auto const& each : all.all())
            each.tensor.dim() == 1 || each.kind == TensorKind::buffer
                ? each.tensor.fill_(each.name.ends_with("scale") ? 1 : 0)
                : each.tensor.normal_(0, 0.05);
    }
    if (loss.adversarial_weight > 0) {
        AdversaryConfig adversary;
        adversary.discriminator.ndf = 2;
        adversary.weight = loss.adversarial_weight;
        adversary.start = loss.adversarial_start;
        parts.adversary = std::make_unique<Adversary>(adversary, kSeed, options);
    }
    return {std::move(parts), loss, kSeed};
}

struct Result {
    double loss = 0;
    std::vector<NamedTensor> gradients;
};

Result run(VaeObjective& net, MicroBatch const& batch, int step = 0) {
    net.parameters().clear_gradients();
    net.begin_step(step);
    at::Tensor const loss = net.loss(batch);
    loss.backward();
    Result result{loss.item<double>(), {}};
    for (auto const& each : net.parameters().all())
        if (each.tensor.grad().defined())
            result.gradients.push_back({each.name, each.tensor.grad().clone()});
    return result;
}

/// In fp64; gradients that are zero by nature (of keys' biases) against those of their neighbours.
void expect_same(Result const& a, Result const& b) {
    EXPECT_NEAR(a.loss, b.loss, 2e-7 * std::abs(b.loss));
    ASSERT_EQ(a.gradients.size(), b.gradients.size());
    double largest = 0;
    for (auto const& each : b.gradients)
        largest = std::max(largest, each.tensor.norm().item<double>());
    for (std::size_t i = 0; i < a.gradients.size(); ++i) {
        at::Tensor const& expected = b.gradients[i].tensor;
        double const difference = a.gradients[i].tensor.sub(expected).norm().item<double>();
        double const norm = std::max(expected.norm().item<double>(), 1e-6 * largest);
        EXPECT_LE(difference, 1e-8 * norm) << a.gradients[i].name;
    }
}

TEST(VaeObjective, IsTheLossOfThePipeline) {
    auto const batch = clips(2, 5);
    plan::VaeLossSection section;
    section.kl_weight = 0.01;
    section.z_rec = true;
    auto net = objective(small(0, 0), section);
    auto const found = run(net, batch);

    VaePipeline vae(small(0, 0), at::TensorOptions(at::kDouble));
    vae.initialise(kSeed);
    auto const draws = [&](RngPurpose purpose, at::IntArrayRef shape) {
        return sample_noise({sample_key(kSeed, 2, 40, purpose), sample_key(kSeed, 2, 41, purpose)},
                            shape);
    };
    VaeNoise const noise{draws(RngPurpose::vae_frames, {5, 4, 4, 4}).flatten(0, 1),
                         draws(RngPurpose::vae_latents, {4, 2, 4, 4})};
    auto const encoded = vae.encode(batch.x, noise);
    auto const decoded = vae.decode(encoded.z, 5);
    VaeLossConfig const config{0.1, 0.01, 0};
    at::Tensor const loss = reconstruction_loss(batch.x.to(at::kDouble), decoded.x, {}, config) +
                            kl_loss(gaussian_of(encoded.moments), config) +
                            reconstruction_loss(encoded.x_z, decoded.x_z, {}, config);
    loss.backward();
    Result expected{loss.item<double>(), {}};
    for (auto const& each : vae.parameters().all())
        if (each.tensor.grad().defined())
            expected.gradients.push_back({each.name, each.tensor.grad()});
    expect_same(found, expected);
}

// micro_batch_size does not change Open-Sora's numbers, so it must not change ours.
TEST(VaeObjective, PiecesOfFramesHaveTheGradientsOfTheWhole) {
    auto const batch = clips(2, 2, 16);
    plan::VaeLossSection section;
    section.kl_weight = 0.01;
    section.lpips = "given";
    auto whole_net = objective(small(0, 0), section, true);
    auto const whole = run(whole_net, batch);
    for (std::int64_t const count : {1, 3}) {
        auto net = objective(small(count, 0), section, true);
        expect_same(run(net, batch), whole);
    }
}

TEST(VaeObjective, ChunksOfTimeAreThoseOfThePipeline) {
    auto const batch = clips(1, 11);
    plan::VaeLossSection section;
    auto net = objective(small(3, 4), section);
    auto const found = run(net, batch);
    VaePipeline vae(small(0, 4), at::TensorOptions(at::kDouble));
    vae.initialise(kSeed);
    auto const key = [&](RngPurpose purpose) { return sample_key(kSeed, 2, 40, purpose); };
    VaeNoise const noise{sample_noise({key(RngPurpose::vae_frames)}, {11, 4, 4, 4}).flatten(0, 1),
                         sample_noise({key(RngPurpose::vae_latents)}, {4, 3, 4, 4})};
    auto const encoded = vae.encode(batch.x, noise);
    VaeLossConfig const config;
    at::Tensor const loss =
        reconstruction_loss(batch.x.to(at::kDouble), vae.decode(encoded.z, 11).x, {}, config) +
        kl_loss(gaussian_of(encoded.moments), config);
    EXPECT_NEAR(found.loss, loss.item<double>(), 2e-7 * found.loss);
}

// Stage 1 of Open-Sora: the 2-D part is fixed, latents are compared with latents, images must stay
// unchanged.
TEST(VaeObjective, StageOneTrainsTimeAlone) {
    plan::VaeLossSection section;
    section.real_rec = false;
    section.z_rec = section.image_identity = section.freeze_2d = true;
    section.mixed = "image";
    section.mixed_image_ratio = 0.5;
    auto config = small(2, 0);
    config.freeze_vae_2d = true;
    auto net = objective(config, section);
    auto const batch = clips(2, 5);
    int images = 0;
    for (int step = 0; step < 12; ++step) {
        net.begin_step(step);
        auto const result = run(net, batch, step);
        for (auto const& each : result.gradients)
            EXPECT_TRUE(each.name.starts_with("temporal_vae.")) << each.name;
        // 64 numbers a frame and channel: an image has its identity loss, too.
        images += result.gradients.empty() ? 0 : 1;
    }
    EXPECT_EQ(images, 12);
    EXPECT_TRUE(net.figures().empty());
}

TEST(VaeObjective, StepsSeeOneFrameOrAnyNumber) {
    plan::VaeLossSection section;
    section.mixed = "random";
    auto net = objective(small(0, 0), section);
    auto const batch = clips(1, 5, 16);
    // The sum over a frame: the loss of a step does not grow with its frames, the latents do.
    std::set<double> losses;
    for (int step = 0; step < 12; ++step) losses.insert(run(net, batch, step).loss);
    EXPECT_GE(losses.size(), 3u);
    EXPECT_LE(losses.size(), 5u);
    EXPECT_EQ(run(net, batch, 3).loss, run(net, batch, 3).loss);
}

TEST(VaeObjective, TheAdversaryJoinsAtItsStep) {
    plan::VaeLossSection section;
    section.adversarial_weight = 0.5;
    section.adversarial_start = 2;
    auto net = objective(small(4, 0), section);
    auto plain = objective(small(4, 0));
    auto const batch = clips(1, 10, 24);
    for (int step = 0; step < 4; ++step) {
        SCOPED_TRACE(step);
        auto const with = run(net, batch, step), without = run(plain, batch, step);
        EXPECT_EQ(with.loss == without.loss, step < 2);
        net.after_update();
        auto const steps = net.state().back().tensor.item<std::int64_t>();
        EXPECT_EQ(steps, std::max(0, step - 1));
    }
    EXPECT_NEAR(net.figures().at("psnr_db"), 5, 5);
}

// The first step of AdamW moves a weight by the rate, that of the stage.
TEST(VaeObjective, TheAdversaryFollowsTheRateOfAStage) {
    plan::VaeLossSection section;
    section.adversarial_weight = 0.5;
    section.adversarial_start = 0;
    auto net = objective(small(4, 0), section);
    plan::OptimSection stage;
    stage.lr = 3e-3;
    net.use(stage);
    at::Tensor const weight = net.state().front().tensor.detach();  // live
    at::Tensor const before = weight.clone();
    (void)run(net, clips(1, 10, 24));
    net.after_update();
    EXPECT_NEAR(weight.sub(before).abs().max().item<double>(), stage.lr, 0.01 * stage.lr);
}

TEST(VaeObjective, AnEvaluationSeesAllFramesInEveryStep) {
    plan::VaeLossSection section;
    auto const batch = clips(1, 5, 16);
    at::NoGradGuard const no_grad;
    double const whole = objective(small(0, 0), section).loss(batch).item<double>();
    section.mixed_image_ratio = 0.5;
    for (char const* mixed : {"random", "image"}) {
        section.mixed = mixed;
        auto net = objective(small(0, 0), section);
        for (int step = 0; step < 8; ++step) {
            net.begin_step(step);
            EXPECT_EQ(net.held_out_loss(batch).item<double>(), whole) << mixed << ' ' << step;
        }
    }
}

// What a held-out clip is asked for: the discriminator neither judges nor learns.
TEST(VaeObjective, AnEvaluationLeavesTheAdversaryOut) {
    plan::VaeLossSection section;
    section.adversarial_weight = 0.5;
    auto net = objective(small(4, 0), section);
    auto plain = objective(small(4, 0));
    auto const batch = clips(1, 10, 24);
    at::NoGradGuard const no_grad;
    EXPECT_EQ(net.held_out_loss(batch).item<double>(), plain.loss(batch).item<double>());
}

}  // namespace
}  // namespace osora::worker
