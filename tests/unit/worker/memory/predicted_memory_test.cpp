// Bytes that a pass of each network holds, against those that the planner counts.
#include "../model/fused/kernels_on_cpu.hpp"
#include "plan/model/model_cost.hpp"
#include "small_models.hpp"
#include "tests/kit/counted_memory.hpp"
#include "worker/model/fused/fused_ops.hpp"
#include "worker/model/mmdit/mmdit_config.hpp"
#include "worker/model/stdit/stdit3_config.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>

namespace osora::worker {
namespace {

struct PassCase {
    char const* arch;
    int hidden, heads, depth;
    std::int64_t side, frames, samples;
    char const* recompute = "none";
    bool bf16 = false;
    int lora_rank = 0;
};
void PrintTo(PassCase const& c, std::ostream* out) {
    *out << c.arch << " " << c.hidden << " x " << c.depth << ", " << c.samples << " of " << c.side
         << " x " << c.frames << ", " << c.recompute << (c.bf16 ? ", bf16" : "")
         << (c.lora_rank > 0 ? ", LoRA" : "");
}

plan::ModelShape shape_of(PassCase const& c) {
    plan::ModelShape shape = plan::model_shape(c.arch).value();
    shape.hidden = c.hidden;
    shape.heads = c.heads;
    shape.depth = c.depth;
    if (shape.single_depth > 0) shape.single_depth = 2 * c.depth;
    return shape;
}

void choose(Parameters& parameters, PassCase const& c) {
    if (c.lora_rank == 0) return;
    plan::OptimSection optim;
    optim.lora_rank = c.lora_rank;
    ASSERT_TRUE(choose_trainable(parameters, optim, 7).has_value());
}

/// The loss of a clip's velocity, of tensors that a step has.
struct Pass {
    virtual ~Pass() = default;
    [[nodiscard]] virtual at::Tensor loss() = 0;
    virtual Parameters& parameters() = 0;
};

struct Stdit3Pass : Pass {
    explicit Stdit3Pass(PassCase const& c)
        : model(stdit3_config(shape_of(c)).value(), c.bf16 ? at::kBFloat16 : at::kFloat),
          clip(at::randn({c.samples, 3, c.frames, c.side, c.side})) {
        model.initialise(3);
        choose(model.parameters(), c);
        model.set_recompute(
            std::make_shared<plan::RecomputeChoice const>(plan::checked_recompute(c.recompute)));
    }
    at::Tensor loss() override {
        Stdit3Input input;
        at::Tensor const noise = at::randn_like(clip);
        input.x = at::lerp(clip, noise, 0.3);
        input.timestep = at::full({clip.size(0)}, 300.0F);
        input.fps = at::tensor({24.0F});
        input.height_px = input.width_px = static_cast<double>(clip.size(3));
        at::Tensor const out = model.forward(input);
        return at::mse_loss(out, at::sub(clip, noise));
    }
    Parameters& parameters() override { return model.parameters(); }
    Stdit3 model;
    at::Tensor clip;
};

struct MmditPass : Pass {
    explicit MmditPass(PassCase const& c)
        : config(mmdit_config(shape_of(c)).value()),
          model(config, c.bf16 ? at::kBFloat16 : at::kFloat),
          clip(at::randn({c.samples, c.frames * c.side * c.side / 16, config.in_channels})),
          text(shape_of(c).text_tokens) {
        model.initialise(3);
        choose(model.parameters(), c);
        model.set_recompute(
            std::make_shared<plan::RecomputeChoice const>(plan::checked_recompute(c.recompute)));
    }
    at::Tensor loss() override {
        MmditInput input;
        at::Tensor const noise = at::randn_like(clip);
        input.img = at::lerp(clip, noise, 0.3);
        std::int64_t const samples = clip.size(0);
        input.img_ids = at::zeros({samples, clip.size(1), 3});
        input.txt = at::zeros({samples, text, config.context_in_dim});
        input.txt_ids = at::zeros({samples, text, 3});
        input.timesteps = at::full({samples}, 0.3F);
        input.y_vec = at::zeros({samples, config.vec_in_dim});
        if (config.guidance_embed) input.guidance = at::full({samples}, 4.0F);
        if (config.cond_embed)
            input.cond = at::zeros({samples, clip.size(1), config.cond_channels()});
        at::Tensor const out = model.forward(input).to(at::kFloat);
        return at::mse_loss(out, at::sub(clip, noise));
    }
    Parameters& parameters() override { return model.parameters(); }
    MmditConfig config;
    Mmdit model;
    at::Tensor clip;
    std::int64_t text;
};

std::unique_ptr<Pass> pass_of(PassCase const& c) {
    if (std::string(c.arch).starts_with("stdit3")) return std::make_unique<Stdit3Pass>(c);
    return std::make_unique<MmditPass>(c);
}

/// What is there after the first pass: tables for this shape of clips, and gradients.
void fill_caches(Pass& pass) {
    at::NoGradGuard const no_graph;
    static_cast<void>(pass.loss());
    for (at::Tensor const& each : pass.parameters().trainable())
        each.mutable_grad() = at::zeros_like(each);
}

class PredictedMemory : public testing::TestWithParam<PassCase> {};

TEST_P(PredictedMemory, IsThatOfThePass) {
    PassCase const& c = GetParam();
    auto const pass = pass_of(c);
    fill_caches(*pass);
    CountedMemory const counted;
    pass->loss().backward();
    auto const peak = static_cast<double>(counted.peak_bytes());
    plan::SampleCost const cost = plan::sample_cost(
        shape_of(c),
        {static_cast<int>(c.side), static_cast<int>(c.side), static_cast<int>(c.frames)},
        {.activations = {.recompute = c.recompute},
         .bytes_per_value = c.bf16 ? 2 : 4,
         .lora_rank = c.lora_rank});
    // The clip itself was there before.
    double const predicted =
        static_cast<double>(c.samples) *
        static_cast<double>(cost.saved_bytes + cost.working_bytes + (cost.input_bytes()));
    EXPECT_NEAR(predicted / peak, 1, 0.03) << peak;
}

INSTANTIATE_TEST_SUITE_P(
    Passes, PredictedMemory,
    testing::Values(
        PassCase{"stdit3-tiny", 96, 4, 2, 64, 8, 2}, PassCase{"stdit3-tiny", 192, 4, 4, 32, 8, 2},
        PassCase{"stdit3-tiny", 192, 4, 2, 64, 4, 1}, PassCase{"stdit3-tiny", 192, 4, 4, 32, 16, 1},
        PassCase{"stdit3-tiny", 192, 4, 4, 64, 1, 4},
        PassCase{"stdit3-tiny", 192, 4, 4, 32, 16, 2, "full"},
        PassCase{"stdit3-tiny", 192, 4, 4, 32, 8, 2, "3"},
        PassCase{"stdit3-tiny", 192, 4, 4, 32, 8, 2, "selective"},
        PassCase{"stdit3-tiny", 96, 4, 2, 32, 4, 2, "none", true},
        PassCase{"stdit3-tiny", 192, 4, 3, 32, 8, 2, "none", false, 8},
        PassCase{"mmdit-tiny", 96, 4, 2, 64, 4, 2}, PassCase{"mmdit-tiny", 192, 4, 2, 32, 8, 2},
        PassCase{"mmdit-tiny", 192, 4, 3, 64, 4, 1},
        PassCase{"mmdit-tiny", 192, 4, 2, 32, 16, 2, "full"},
        PassCase{"mmdit-tiny", 192, 4, 2, 32, 8, 2, "3"},
        PassCase{"mmdit-tiny", 192, 4, 2, 32, 8, 2, "selective"},
        PassCase{"mmdit-tiny", 96, 4, 2, 32, 4, 2, "none", true},
        PassCase{"mmdit-tiny", 192, 4, 2, 32, 8, 2, "none", false, 8}));

/// Bytes of the graph of a loss.
double kept_by(PassCase const& c, FusedKernels const* kernels) {
    use_fused_kernels(kernels);
    auto const pass = pass_of(c);
    fill_caches(*pass);
    CountedMemory const counted;
    at::Tensor const loss = pass->loss();
    use_fused_kernels(nullptr);
    return static_cast<double>(counted.held_bytes());
}

class KeptWithKernels : public testing::TestWithParam<PassCase> {};

TEST_P(KeptWithKernels, IsLessByWhatThePlanSays) {
    PassCase const& c = GetParam();
    auto const predicted = [&c](bool fused) {
        return static_cast<double>(
            plan::sample_cost(
                shape_of(c),
                {static_cast<int>(c.side), static_cast<int>(c.side), static_cast<int>(c.frames)},
                {.activations = {.recompute = c.recompute},
                 .bytes_per_value = c.bf16 ? 2 : 4,
                 .one_sample = c.samples == 1,
                 .fused = fused})
                .saved_bytes);
    };
    double const plain = kept_by(c, nullptr), fused = kept_by(c, &kernels_on_cpu());
    double const less = static_cast<double>(c.samples) * (predicted(false) - predicted(true));
    EXPECT_NEAR((plain - fused) / plain, less / plain, 0.02) << plain << " " << fused;
    EXPECT_GT(less / plain, 0.01);
}

INSTANTIATE_TEST_SUITE_P(Passes, KeptWithKernels,
                         testing::Values(PassCase{"stdit3-tiny", 192, 4, 4, 32, 8, 2},
                                         PassCase{"stdit3-tiny", 96, 4, 2, 32, 4, 2, "none", true},
                                         PassCase{"stdit3-tiny", 192, 4, 4, 64, 1, 4},
                                         PassCase{"stdit3-tiny", 192, 4, 4, 32, 8, 2, "selective"},
                                         PassCase{"mmdit-tiny", 192, 4, 2, 32, 8, 2},
                                         PassCase{"mmdit-tiny", 192, 4, 3, 64, 4, 1},
                                         PassCase{"mmdit-tiny", 96, 4, 2, 32, 4, 2, "none", true},
                                         PassCase{"mmdit-tiny", 192, 4, 2, 32, 8, 2, "selective"}));

}  // namespace
}  // namespace osora::worker
