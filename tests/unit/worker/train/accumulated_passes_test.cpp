// A trainer's step in several passes in bf16: its gradient is the sum of the passes in fp32, also
// where the step was planned with one pass, and where the memory of that sum is short at first.
#include "tests/unit/worker/parallel/ranks.hpp"
#include "tests/unit/worker/train/failing_allocations.hpp"
#include "worker/train/trainer.hpp"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace osora::worker {
namespace {

constexpr std::int64_t kPartNumbers = 1024;
constexpr std::size_t kSumBytes = 4 * kPartNumbers;

/// The gradient of each weight is 1 for sample 0 and 1/512 for any other. In bf16 the next value
/// after 1 is 1 + 4/512.
class PartsObjective final : public Objective {
public:
    explicit PartsObjective(std::size_t most)
        : parameters_(at::TensorOptions(at::kBFloat16)),
          weight_(parameters_.add("w", {kPartNumbers})),
          unused_(parameters_.add("unused", {3})),
          most_(most) {
        at::NoGradGuard const no_grad;
        weight_.zero_();
        unused_.zero_();
    }
    Parameters& parameters() override { return parameters_; }
    at::Tensor loss(MicroBatch const& batch) override {
        if (batch.samples.size() > most_) C10_THROW_ERROR(OutOfMemoryError, "too many");
        double sum = 0;
        for (SampleIdentity const& each : batch.samples) sum += each.id == 0 ? 1 : 1.0 / 512;
        return weight_.sum().to(at::kFloat).mul(sum / static_cast<double>(batch.samples.size()));
    }

private:
    Parameters parameters_;
    at::Tensor weight_, unused_;
    std::size_t most_;  // samples that fit into memory
};

struct PartsStep {
    int ranks = 1, zero_stage = 0;
    std::int64_t micro_batch_size = 1;
    std::size_t most = 100;
    FailingRange failing = {};  // of the last rank
};

struct PartsRan {
    StepOutput output;
    at::ScalarType type = at::kFloat;  // of the gradient; with one rank
    double gradient = 0;               // of the first weight; with one rank
    std::vector<MemoryShortage> shortages;
};

constexpr std::int64_t kAllParts = 8;  // samples of all ranks

/// Of each rank.
std::vector<PartsRan> run_parts(PartsStep const& step) {
    std::vector<PartsRan> all(static_cast<std::size_t>(step.ranks));
    auto const body = [&](std::optional<Group> const& group) {
        at::set_num_threads(1);
        int const rank = group ? group->rank() : 0;
        PartsRan& ran = all[static_cast<std::size_t>(rank)];
        plan::WorkerJob job;
        job.config.optim.warmup_steps = 0;
        job.config.optim.grad_clip.value = 0;  // the optimizer leaves the gradient as it is
        job.config.train.steps = 100;
        job.plan.chosen.zero_stage = step.zero_stage;
        job.plan.chosen.grad_bucket_mib = 1;
        Trainer trainer(job, std::make_unique<PartsObjective>(step.most), {.all = group});
        std::array<std::uint8_t, 3 * kAllParts> const pixels{};
        StepInput input;
        input.samples = kAllParts / step.ranks;
        input.pixels = std::span(pixels).first(static_cast<std::size_t>(3 * input.samples));
        input.frames = input.height = input.width = 1;
        input.micro_batch_size = step.micro_batch_size;
        input.global_samples = kAllParts;
        input.on_shortage = [&](auto const& each) { ran.shortages.push_back(each); };
        for (std::int64_t i = 0; i < input.samples; ++i) {
            SampleIdentity sample;
            sample.id = static_cast<std::uint64_t>(rank * input.samples + i);
            input.identities.push_back(sample);
        }
        FailingAllocations const mark(rank + 1 == step.ranks ? step.failing : FailingRange{});
        auto const output = trainer.step(input);
        ASSERT_TRUE(output.has_value()) << output.error().message;
        ran.output = *output;
        if (group) return;
        at::Tensor const gradient = trainer.parameters().find("w")->tensor.grad();
        ran.type = gradient.scalar_type();
        ran.gradient = gradient[0].item<double>();
    };
    if (step.ranks == 1)
        body(std::nullopt);
    else
        run_ranks(step.ranks, body);
    return all;
}

/// Of gradients that are all `each`.
double norm_of_parts(double each) {
    return 32 * each;  // the root of kPartNumbers
}

TEST(AccumulatedPasses, SmallPartsAreNotLost) {
    auto const eight = run_parts({.micro_batch_size = 1}).front();
    EXPECT_EQ(eight.type, at::kFloat);
    EXPECT_EQ(eight.gradient, (1 + 7.0 / 512) / 8);
    EXPECT_NEAR(eight.output.grad_norm, norm_of_parts((1 + 7.0 / 512) / 8), 1e-5);
    auto const one = run_parts({.micro_batch_size = 8}).front();
    EXPECT_EQ(one.type, at::kBFloat16);  // rounded once
    EXPECT_EQ(one.gradient, (1 + 8.0 / 512) / 8);
}

// Rank 0 has 1 + 3/512, which travels as 1 + 4/512; rank 1 has 4/512.
TEST(AccumulatedPasses, OfSeveralRanks) {
    for (int const stage : {0, 1}) {
        for (PartsRan const& ran : run_parts({.ranks = 2, .zero_stage = stage})) {
            EXPECT_FALSE(ran.output.skipped);
            EXPECT_NEAR(ran.output.grad_norm, norm_of_parts((1 + 8.0 / 512) / 8), 1e-5) << stage;
        }
    }
}

TEST(AccumulatedPasses, OfAStepThatWasPlannedWithOnePass) {
    auto const ran = run_parts({.micro_batch_size = 8, .most = 1}).front();
    ASSERT_EQ(ran.shortages.size(), 3u);  // 8, 4, 2
    EXPECT_EQ(ran.output.micro_batch_size, 1);
    EXPECT_EQ(ran.type, at::kFloat);
    EXPECT_EQ(ran.gradient, (1 + 7.0 / 512) / 8);
}

// The memory of the sum is asked for in the first pass; where it is short, all ranks take smaller
// passes. Nothing of the pass that failed is in the gradient.
TEST(AccumulatedPasses, AskForTheirMemoryLikeAPass) {
    FailingRange const first{.first = 1, .end = 2, .bytes = kSumBytes};
    auto const alone = run_parts({.micro_batch_size = 4, .failing = first}).front();
    ASSERT_EQ(alone.shortages.size(), 1u);
    EXPECT_NE(alone.shortages[0].lacked.find("allocation 1 fails"), std::string::npos);
    EXPECT_EQ(alone.output.micro_batch_size, 2);
    EXPECT_EQ(alone.type, at::kFloat);
    EXPECT_EQ(alone.gradient, (1 + 6.0 / 512) / 8);  // the first pass has 1 + 1/512: 1 in bf16
    for (int const stage : {0, 1}) {
        auto const ranks =
            run_parts({.ranks = 2, .zero_stage = stage, .micro_batch_size = 2, .failing = first});
        for (PartsRan const& ran : ranks) {
            ASSERT_EQ(ran.shortages.size(), 1u) << stage;
            EXPECT_FALSE(ran.output.skipped);
            EXPECT_EQ(ran.output.micro_batch_size, 1);
            EXPECT_NEAR(ran.output.grad_norm, norm_of_parts((1 + 8.0 / 512) / 8), 1e-5) << stage;
        }
    }
}

}  // namespace
}  // namespace osora::worker
