// What training holds, counted in LibTorch's allocator, against the formula that the planner goes
// by; and the field report of an autoencoder that ran out of memory at batch 1.
#include "plan/vae/training_memory.hpp"

#include "base/text/units.hpp"
#include "plan/planner.hpp"

#include "tests/kit/counted_memory.hpp"
#include "tests/parity/compare.hpp"
#include "worker/vae_training/vae_objective.hpp"
#include "worker/vae_training/vqvae_objective.hpp"

#include <ATen/Context.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::worker {
namespace {

constexpr double kBytes = sizeof(float);

MicroBatch batch_of(plan::VaeClip const& clip) {
    MicroBatch batch;
    batch.x = at::randn({clip.clips, 3, clip.frames, clip.height, clip.width});
    for (std::int64_t i = 0; i < clip.clips; ++i)
        batch.samples.push_back({.id = static_cast<std::uint64_t>(i), .epoch = 0, .fps = 24});
    return batch;
}

/// Forward and backward, without weights and their gradients.
double peak_of(Objective& objective, plan::VaeClip const& clip) {
    auto const batch = batch_of(clip);
    objective.begin_step(0);
    CountedMemory const memory;
    objective.loss(batch).backward();
    return static_cast<double>(memory.peak_bytes()) -
           kBytes * static_cast<double>(objective.parameters().trainable_count());
}

VaePipelineConfig tiny(std::int64_t micro_batch_size, std::int64_t micro_frame_size = 0) {
    VaePipelineConfig config = plan::vae_sizes("tiny").value();
    config.micro_batch_size = micro_batch_size;
    config.micro_frame_size = micro_frame_size;
    return config;
}

double vae_ratio(VaePipelineConfig const& config, plan::VaeClip const& clip) {
    VaePipeline vae(config);
    vae.initialise(1);
    plan::VaeLossSection const loss;
    VaeObjective objective({std::move(vae), nullptr, nullptr, {}}, loss, 1);
    return peak_of(objective, clip) /
           (kBytes * static_cast<double>(plan::vae_training_peak(config, loss, clip)));
}

TEST(TrainingMemory, OfTheVaeIsTheFormula) {
    plan::VaeClip const clip{2, 8, 48, 48};
    for (auto const& config : {tiny(0), tiny(8), tiny(4), tiny(1), tiny(4, 4)}) {
        double const ratio = vae_ratio(config, clip);
        SCOPED_TRACE(config.micro_batch_size);
        testing::Test::RecordProperty("ratio", std::to_string(ratio));
        EXPECT_LT(ratio, 1.3);
        EXPECT_GT(ratio, 0.45);
    }
}

TEST(TrainingMemory, OfAVqvaeIsTheFormula) {
    plan::VqvaeSection sizes;
    sizes.n_codes = 64;
    sizes.embedding_dim = 16;
    sizes.n_hiddens = 32;
    sizes.n_res_layers = 2;
    plan::VaeClip const clip{2, 16, 64, 64};
    for (std::int64_t const frames : {0, 8, 4}) {
        Vqvae model(sizes);
        model.initialise(1);
        VqvaeObjective objective(std::move(model),
                                 {.seed = 1, .micro_frame_size = frames, .group = {}});
        double const ratio =
            peak_of(objective, clip) /
            (kBytes * static_cast<double>(plan::vqvae_training_peak(sizes, frames, clip)));
        SCOPED_TRACE(frames);
        EXPECT_LT(ratio, 1.3);
        EXPECT_GT(ratio, 0.6);
    }
}

TEST(TrainingMemory, ParametersAreCounted) {
    plan::VaePipelineConfig const published;  // docs/rfc/017: names and sizes of the weights
    EXPECT_EQ(plan::spatial_parameters(published.spatial), 83'653'863);
    EXPECT_EQ(plan::temporal_parameters(published.temporal), 309'687'144);
    EXPECT_EQ(plan::vqvae_parameters({}), 21'141'619);  // PyTorch's count of VideoGPT's VQVAE
    VaePipeline const vae(tiny(0));
    EXPECT_EQ(plan::spatial_parameters(vae.config().spatial) +
                  plan::temporal_parameters(vae.config().temporal),
              vae.parameters().trainable_count());
}

/// A clip of 17 frames at batch 1 on a machine with `rank_memory_gib` for it.
plan::PlanDecision plan_of(AutoOr<double> rank_memory_gib) {
    plan::PlanRequest request;
    request.config.run.job = "train_vae";
    request.config.vae.arch = "tiny";
    request.config.bucket = {{.resolution = "64", .num_frames = 17, .micro_batch_size = {}}};
    request.config.batch.global_batch_size = 1;
    request.config.memory.rank_memory_gib = rank_memory_gib;
    request.cluster.nodes = {{"box", 2, std::int64_t{8} << 30, {}}};
    request.calibration = plan::nominal_cpu();
    auto decision = plan::make_plan(request);
    EXPECT_TRUE(decision.has_value()) << (decision ? "" : decision.error().message);
    return decision ? *decision : plan::PlanDecision{};
}

struct Measured {
    double peak_bytes = 0;
    std::vector<at::Tensor> gradients;
};

Measured measure(int micro_batch_size, int micro_frame_size) {
    at::manual_seed(1);
    plan::VaeClip const clip{1, 17, 64, 64};
    VaePipeline vae(tiny(micro_batch_size, micro_frame_size));
    vae.initialise(1);
    VaeObjective objective({std::move(vae), nullptr, nullptr, {}}, {}, 1);
    Measured found{peak_of(objective, clip), {}};
    for (auto const& each : objective.parameters().trainable())
        found.gradients.push_back(each.grad());
    return found;
}

// Field report: training ran out of memory at batch 1, cured by micro_batch_size. It fits, and the
// plan says why: the pieces that it chooses stay below what it was given, where the whole does not.
TEST(TrainingMemory, BatchOneFitsInThePiecesOfThePlan) {
    auto const whole = plan_of({});
    double const given_gib = 0.3 * whole.predicted.peak_memory_gib;
    auto const cut = plan_of(given_gib);
    ASSERT_LT(cut.chosen.vae_micro_batch_size, 17);
    RecordProperty("why", cut.reasons[1]);
    Measured const at_once = measure(0, 17);
    Measured const in_pieces =
        measure(cut.chosen.vae_micro_batch_size, cut.chosen.vae_micro_frame_size);
    double const given_bytes = given_gib * kGiB;
    EXPECT_GT(at_once.peak_bytes, given_bytes);
    EXPECT_LT(in_pieces.peak_bytes, given_bytes);
    double difference = 0, norm = 0;  // squares, over all gradients
    for (std::size_t i = 0; i < at_once.gradients.size(); ++i) {
        at::Tensor const& expected = at_once.gradients[i];
        difference += in_pieces.gradients[i].sub(expected).square().sum().item<double>();
        norm += expected.square().sum().item<double>();
    }
    EXPECT_LE(std::sqrt(difference / norm), kFp32ConvGradient);
}

}  // namespace
}  // namespace osora::worker
