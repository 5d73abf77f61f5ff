// The trainer with a network of one layer: precision, skipped steps, what a checkpoint carries.
#include "worker/train/trainer.hpp"

#include "tests/unit/worker/parallel/ranks.hpp"
#include "worker/train/trainable.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/matmul.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>

namespace osora::worker {
namespace {

/// Mean of (w x - 1)^2 over the colours x of a pixel.
class OnePixel final : public Objective {
public:
    explicit OnePixel(at::ScalarType type, double factor = 1, std::size_t most = 100)
        : parameters_(at::TensorOptions(type)),
          weight_(parameters_.add("w", {3, 3})),
          fixed_(parameters_.add("fixed", {2})),
          factor_(factor),
          most_(most) {
        at::NoGradGuard const no_grad;
        weight_.fill_(0.3);
        fixed_.fill_(2);
    }
    Parameters& parameters() override { return parameters_; }
    at::Tensor loss(MicroBatch const& batch) override {
        if (batch.samples.size() > most_) C10_THROW_ERROR(OutOfMemoryError, "too many");
        at::Tensor const colours = batch.x.select(2, 0).select(2, 0).select(2, 0);  // (B, 3)
        at::Tensor const out = colours.to(weight_.scalar_type()).matmul(weight_.t());
        return out.to(at::kFloat).sub(1).square().mean().mul(factor_);
    }

private:
    Parameters parameters_;
    at::Tensor weight_, fixed_;
    double factor_;
    std::size_t most_;  // samples that fit into memory
};

class TrainerTest : public testing::Test {
protected:
    static plan::WorkerJob job() {
        plan::WorkerJob job;
        job.config.optim.lr = 1e-2;
        job.config.optim.warmup_steps = 0;
        job.config.train.steps = 100;
        return job;
    }
    /// Step with 4 samples of one pixel.
    static StepOutput step(Trainer& trainer, int number, int ranks = 1) {
        return try_step(trainer, number, ranks).value();
    }
    static Result<StepOutput> try_step(Trainer& trainer, int number, int ranks = 1) {
        std::array<std::uint8_t, 12> pixels{};
        return trainer.step(input_of(pixels, number, ranks));
    }
    /// Fills and refers to `pixels`.
    static StepInput input_of(std::array<std::uint8_t, 12>& pixels, int number, int ranks = 1) {
        for (std::size_t i = 0; i < pixels.size(); ++i) {
            pixels[i] = static_cast<std::uint8_t>(60 + 17 * i + static_cast<unsigned>(number) % 4);
        }
        StepInput input;
        input.step = number;
        input.pixels = pixels;
        input.samples = 4;
        input.frames = input.height = input.width = 1;
        input.identities.resize(4);
        input.micro_batch_size = 2;
        input.global_samples = 4 * ranks;
        return input;
    }
    static Trainer make(at::ScalarType type, plan::WorkerJob const& job = TrainerTest::job()) {
        return Trainer(job, std::make_unique<OnePixel>(type), {});
    }
    static at::Tensor weight(Trainer const& trainer) {
        return trainer.parameters().find("w")->tensor.detach();
    }
};

// With a loss this small the first scale fits fp16, so no step is skipped.
TEST_F(TrainerTest, HalvesFollowFp32) {
    auto const small = [](at::ScalarType type) {
        return Trainer(job(), std::make_unique<OnePixel>(type, 1e-2), {});
    };
    auto fp32 = small(at::kFloat), bf16 = small(at::kBFloat16), fp16 = small(at::kHalf);
    double const first = step(fp32, 0).loss;
    (void)step(bf16, 0);
    EXPECT_FALSE(step(fp16, 0).skipped);
    StepOutput exact;
    for (int i = 1; i < 60; ++i) {
        exact = step(fp32, i);
        EXPECT_NEAR(step(bf16, i).loss, exact.loss, 0.02 * first) << i;
        EXPECT_NEAR(step(fp16, i).loss, exact.loss, 0.002 * first) << i;
    }
    EXPECT_LT(exact.loss, 0.75 * first);
    EXPECT_EQ(weight(fp16).scalar_type(), at::kHalf);
    EXPECT_EQ(exact.loss_scale, 1);
}

// A gradient above 1 leaves fp16 at the first scale, 65,536: steps are skipped until it fits.
TEST_F(TrainerTest, Fp16FindsItsScale) {
    Trainer trainer(job(), std::make_unique<OnePixel>(at::kHalf, 100.0), {});
    at::Tensor const before = weight(trainer).clone();
    double scale = 65536;
    int skipped = 0;
    for (int i = 0; i < 20; ++i) {
        StepOutput const output = step(trainer, 0);
        EXPECT_EQ(output.loss_scale, scale);
        EXPECT_TRUE(std::isfinite(output.loss));
        if (!output.skipped) break;
        EXPECT_TRUE(at::equal(weight(trainer), before));
        ++skipped;
        scale /= 2;
    }
    EXPECT_GT(skipped, 3);
    EXPECT_LT(skipped, 15);
    EXPECT_FALSE(at::equal(weight(trainer), before));
    CheckpointState state;
    trainer.describe(state);
    EXPECT_EQ(state.loss_scale, (LossScale{scale, 1}));
    EXPECT_EQ(state.optimizer_steps, 1);
}

// A step that runs again for want of memory is no overflow.
TEST_F(TrainerTest, Fp16KeepsItsScaleInSmallerPasses) {
    auto const make = [](std::size_t most) {
        return Trainer(job(), std::make_unique<OnePixel>(at::kHalf, 1e-2, most), {});
    };
    auto plain = make(100), cramped = make(1);
    for (int i = 0; i < 3; ++i) {
        StepOutput const expected = step(plain, i), got = step(cramped, i);
        EXPECT_FALSE(got.skipped);
        EXPECT_EQ(got.loss_scale, 65536);
        EXPECT_NEAR(got.loss, expected.loss, 1e-3 * expected.loss);
    }
    CheckpointState state;
    cramped.describe(state);
    EXPECT_EQ(state.loss_scale, (LossScale{65536, 3}));
    auto impossible = make(0);
    EXPECT_EQ(try_step(impossible, 0).error().code, Errc::out_of_memory);
}

// Passes without a gradient, too: no held-out sample ends a run, or is left out.
TEST_F(TrainerTest, HeldOutSamplesThatDoNotFitRunInSmallerPasses) {
    auto const make = [](std::size_t most) {
        return Trainer(job(), std::make_unique<OnePixel>(at::kFloat, 1.0, most), {});
    };
    std::array<std::uint8_t, 12> pixels{};
    int lacks = 0;
    auto input = input_of(pixels, 0);
    input.micro_batch_size = 4;
    input.on_lack = [&] { ++lacks; };
    auto roomy = make(100), cramped = make(1), impossible = make(0);
    double const expected = roomy.loss(input).value();
    EXPECT_EQ(lacks, 0);
    EXPECT_NEAR(cramped.loss(input).value(), expected, 1e-6 * expected);
    EXPECT_EQ(lacks, 2);  // of passes of 4 and of 2
    EXPECT_NEAR(cramped.loss(input).value(), expected, 1e-6 * expected);
    EXPECT_EQ(lacks, 2);  // it remembers what fitted
    EXPECT_FALSE(cramped.meets_peers());
    EXPECT_EQ(impossible.loss(input).error().code, Errc::out_of_memory);
    auto unguarded = job();
    unguarded.config.debug.memory_guard = false;
    Trainer one_try(unguarded, std::make_unique<OnePixel>(at::kFloat, 1.0, 1), {});
    EXPECT_EQ(one_try.loss(input).error().code, Errc::out_of_memory);
}

// One rank's gradient overflows: all of them skip the step, and their weights stay the same bits.
TEST_F(TrainerTest, RanksSkipTogether) {
    std::array<std::vector<bool>, 2> skipped;
    std::array<at::Tensor, 2> weights;
    run_ranks(2, [&](Group const& group) {
        auto objective = std::make_unique<OnePixel>(at::kHalf, group.rank() == 1 ? 50.0 : 1e-3);
        auto two = job();
        two.plan.chosen.grad_bucket_mib = 1;
        Trainer trainer(two, std::move(objective), {.all = group});
        auto const rank = static_cast<std::size_t>(group.rank());
        for (int i = 0; i < 12; ++i) skipped[rank].push_back(step(trainer, i, 2).skipped);
        weights[rank] = weight(trainer).clone();
    });
    EXPECT_EQ(skipped[0], skipped[1]);
    EXPECT_TRUE(skipped[0].front());
    EXPECT_FALSE(skipped[0].back());
    EXPECT_TRUE(at::equal(weights[0], weights[1]));
}

// "fixed" is read by no pass: AdamW's decay alone moves it, on one rank as on two.
TEST_F(TrainerTest, WhatNoPassReachesDecaysOnAnyNumberOfRanks) {
    constexpr int kSteps = 3;
    auto decaying = job();
    decaying.config.optim.weight_decay = 0.5;
    decaying.plan.chosen.grad_bucket_mib = 1;
    auto const fixed = [](Trainer const& trainer) {
        return trainer.parameters().find("fixed")->tensor.detach().clone();
    };
    auto one = make(at::kFloat, decaying);
    for (int i = 0; i < kSteps; ++i) (void)step(one, i);
    double const expected = 2 * std::pow(1 - 1e-2 * 0.5, kSteps);  // 1 - lr x weight_decay a step
    EXPECT_NEAR(fixed(one)[0].item<double>(), expected, 1e-6);
    std::array<at::Tensor, 2> of_two;
    run_ranks(2, [&](Group const& group) {
        Trainer trainer(decaying, std::make_unique<OnePixel>(at::kFloat), {.all = group});
        for (int i = 0; i < kSteps; ++i) (void)step(trainer, i, 2);
        of_two[static_cast<std::size_t>(group.rank())] = fixed(trainer);
    });
    for (at::Tensor const& each : of_two) EXPECT_TRUE(at::equal(each, fixed(one)));
}

TEST_F(TrainerTest, ContinuesFromACheckpointBitExactly) {
    namespace fs = std::filesystem;
    fs::path const folder =
        fs::temp_directory_path() / ("osora trainer " + std::to_string(getpid()));
    for (auto const type : {at::kFloat, at::kBFloat16, at::kHalf}) {
        auto whole = make(type);
        for (int i = 0; i < 7; ++i) (void)step(whole, i);
        CheckpointState state;
        state.step = 7;
        whole.describe(state);
        ASSERT_TRUE(save_checkpoint(folder, state, snapshot(whole.tensors()), 1).has_value());
        bool const masters = fs::exists(folder / "step-00000007" / "master.safetensors");
        EXPECT_EQ(masters, type != at::kFloat);
        auto const loaded = load_checkpoint(folder / "step-00000007");
        ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
        auto resumed = make(type);
        ASSERT_TRUE(resumed.restore(*loaded).has_value());
        for (int i = 7; i < 12; ++i) {
            StepOutput const expected = step(whole, i), got = step(resumed, i);
            EXPECT_EQ(got.loss, expected.loss) << i;
            EXPECT_EQ(got.grad_norm, expected.grad_norm) << i;
            EXPECT_EQ(got.loss_scale, expected.loss_scale) << i;
        }
        EXPECT_TRUE(at::equal(weight(whole), weight(resumed)));
        // A lost file is noticed, not taken for an older kind of checkpoint.
        if (masters) {
            fs::remove(folder / "step-00000007" / "master.safetensors");
            EXPECT_TRUE(load_checkpoint(folder / "step-00000007").has_error());
        }
        fs::remove_all(folder);
    }
}

/// A linear layer that takes adapters.
class OneLinear final : public Objective {
public:
    OneLinear() : parameters_(at::TensorOptions(at::kFloat)) {
        at::NoGradGuard const no_grad;
        parameters_.add("blocks.0.fc.weight", {3, 3}).fill_(1);
        static_cast<void>(parameters_.add_linear("blocks.0.fc", 3, 3));
    }
    Parameters& parameters() override { return parameters_; }
    at::Tensor loss(MicroBatch const& batch) override { return batch.x.mean(); }

private:
    Parameters parameters_;
};

// With another scale they would be another network from the first step on, and nothing would say
// so.
TEST_F(TrainerTest, RefusesAdaptersOfAnotherScale) {
    namespace fs = std::filesystem;
    fs::path const folder = fs::temp_directory_path() / ("osora scale " + std::to_string(getpid()));
    auto const with = [](double alpha) {
        auto adapted = job();
        adapted.config.optim.lora_rank = 2;
        adapted.config.optim.lora_alpha.value = alpha;
        auto objective = std::make_unique<OneLinear>();
        choose_trainable(objective->parameters(), adapted.config.optim, 7).value();
        return Trainer(adapted, std::move(objective), {});
    };
    auto const saved = with(8);
    CheckpointState state;
    state.step = 1;
    saved.describe(state);
    ASSERT_TRUE(save_checkpoint(folder, state, snapshot(saved.tensors()), 1).has_value());
    auto const loaded = load_checkpoint(folder / "step-00000001");
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    auto same = with(8), other = with(2);
    EXPECT_TRUE(same.restore(*loaded).has_value());
    auto const refused = other.restore(*loaded);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, Errc::invalid_input);
    EXPECT_EQ(refused.error().message.rfind("optim.lora_alpha is 8, this run has 2: ", 0), 0u)
        << refused.error().message;
    EXPECT_NE(refused.error().message.find("set optim.lora_alpha = 8"), std::string::npos);
    fs::remove_all(folder);
}

/// Starts from samples, and has room for `most` of them.
class Starting final : public Objective {
public:
    Starting(std::vector<std::string>& said, std::size_t most)
        : inner_(at::kFloat), said_(said), most_(most) {}
    Parameters& parameters() override { return inner_.parameters(); }
    [[nodiscard]] bool awaits_samples() const override { return awaits_; }
    void see(MicroBatch const& first) override {
        said_.push_back("see " + std::to_string(first.samples.size()));
        if (first.samples.size() > most_) C10_THROW_ERROR(OutOfMemoryError, "too many");
    }
    void start() override {
        said_.emplace_back("start");
        awaits_ = false;
    }
    at::Tensor loss(MicroBatch const& batch) override {
        said_.push_back("pass of " + std::to_string(batch.samples.size()));
        return inner_.loss(batch);
    }

private:
    OnePixel inner_;
    std::vector<std::string>& said_;
    std::size_t most_;
    bool awaits_ = true;
};

// Rank 1 has no room for what passes of two samples start from: both try again with one.
TEST_F(TrainerTest, RanksStartTheObjectiveTogetherBeforeTheirPasses) {
    std::array<std::vector<std::string>, 2> said;
    auto two = job();
    two.plan.chosen.grad_bucket_mib = 1;
    run_ranks(2, [&](Group const& group) {
        auto const rank = static_cast<std::size_t>(group.rank());
        Trainer trainer(two, std::make_unique<Starting>(said[rank], rank == 1 ? 1 : 100),
                        {.all = group});
        EXPECT_FALSE(step(trainer, 0, 2).skipped);
        EXPECT_FALSE(step(trainer, 1, 2).skipped);
    });
    std::vector<std::string> expected{"see 2", "see 1", "start"};
    for (int pass = 0; pass < 8; ++pass) expected.emplace_back("pass of 1");  // of two steps
    EXPECT_EQ(said[0], expected);
    EXPECT_EQ(said[1], expected);
}

TEST_F(TrainerTest, WithoutAnAverageNoneIsKept) {
    auto none = job();
    none.config.optim.ema_decay = 0;
    auto trainer = make(at::kFloat, none);
    (void)step(trainer, 0);
    EXPECT_TRUE(trainer.tensors().ema.empty());
    EXPECT_EQ(make(at::kFloat).tensors().ema.size(), 2u);
}

TEST_F(TrainerTest, TheRateFollowsItsSchedule) {
    auto cosine = job();
    cosine.config.optim.lr_schedule = "cosine";
    cosine.config.optim.lr_min = 1e-3;
    cosine.config.train.steps = 4;
    auto trainer = make(at::kFloat, cosine);
    double const middle = (1e-2 + 1e-3) / 2;
    EXPECT_DOUBLE_EQ(step(trainer, 0).lr, 1e-2);
    (void)step(trainer, 1);
    EXPECT_NEAR(step(trainer, 2).lr, middle, 1e-12);
    // A stage with a separate rate, from step 3 on.
    auto stage = cosine.config.optim;
    stage.lr = 4e-3;
    stage.lr_min = 0;
    stage.lr_schedule = "linear";
    stage.warmup_steps = 1;
    trainer.use(stage, {3, 8});
    EXPECT_NEAR(step(trainer, 3).lr, 2e-3, 1e-12);
    EXPECT_NEAR(step(trainer, 4).lr, 4e-3, 1e-12);
    EXPECT_NEAR(step(trainer, 5).lr, 3e-3, 1e-12);
}

}  // namespace
}  // namespace osora::worker
