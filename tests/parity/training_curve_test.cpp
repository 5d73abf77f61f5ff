// 200 training steps of stdit3-tiny against PyTorch: the same weights, clips, times and noise, and
// the losses and gradient norms of tests/data/train/curve.json (make_curve.py).
#include "base/files/files.hpp"
#include "plan/worker_job.hpp"
#include "protocol/json.hpp"
#include "worker/train/objective/stdit3_objective.hpp"
#include "worker/train/trainer.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

namespace osora::worker {
namespace {

constexpr int kSteps = 200, kSamples = 4;
constexpr std::array<std::array<int, 3>, 3> kShapes{{{4, 32, 32}, {8, 16, 24}, {1, 48, 32}}};

plan::WorkerJob curve_job() {
    plan::WorkerJob job;
    job.config.train.seed = 1024;
    job.config.optim.lr = 2e-3;
    job.config.optim.warmup_steps = 20;
    job.config.optim.grad_clip.value = 1.0;
    job.config.optim.precision = "fp32";
    job.plan.chosen.grad_bucket_mib = 25;
    return job;
}

/// initial() of make_curve.py.
void set_initial(Parameters& parameters) {
    at::NoGradGuard const no_grad;
    std::map<std::string, at::Tensor> by_name;
    for (auto const& entry : parameters.all()) by_name.emplace(entry.name, entry.tensor);
    std::uint64_t index = 0;
    for (auto& [name, tensor] : by_name) {
        auto const key = sample_key(7, 0, index++, RngPurpose::noise);
        if (name == "rope.freqs") continue;
        at::Tensor const noise = sample_noise({key}, tensor.sizes()).select(0, 0);
        if (name.ends_with("norm.weight")) {
            tensor.copy_(noise.mul(0.1).add(1));
        } else if (tensor.dim() == 1) {
            tensor.copy_(noise.mul(0.02));
        } else {
            auto const fan_in = static_cast<double>(tensor.numel() / tensor.size(0));
            tensor.copy_(noise.mul(0.5 / std::sqrt(fan_in)));
        }
    }
}

/// clip() of make_curve.py, as bytes (T, H, W, 3).
void append_clip(int sample, std::array<int, 3> const& shape, std::vector<std::uint8_t>& pixels) {
    for (int t = 0; t < shape[0]; ++t)
        for (int y = 0; y < shape[1]; ++y)
            for (int x = 0; x < shape[2]; ++x)
                for (int c = 0; c < 3; ++c) {
                    int const wave =
                        (x * 7 + y * (3 + sample % 5) + t * 11 + c * 53 + sample * 29) % 512;
                    pixels.push_back(static_cast<std::uint8_t>(wave < 256 ? wave : 511 - wave));
                }
}

StepOutput step_of(Trainer& trainer, int step) {
    auto const& shape = kShapes.at(static_cast<std::size_t>(step) % kShapes.size());
    std::vector<std::uint8_t> pixels;
    StepInput input;
    input.step = step;
    for (int i = 0; i < kSamples; ++i) {
        int const id = step * kSamples + i;
        append_clip(id, shape, pixels);
        input.identities.push_back({.id = static_cast<std::uint64_t>(id),
                                    .epoch = static_cast<std::uint64_t>(step / 50),
                                    .fps = 24});
    }
    input.pixels = pixels;
    input.samples = input.global_samples = kSamples;
    input.micro_batch_size = 2;
    input.frames = shape[0];
    input.height = shape[1];
    input.width = shape[2];
    auto output = trainer.step(input);
    EXPECT_TRUE(output.has_value());
    return output.value();
}

TEST(TrainingCurve, EqualsPyTorchAtEveryStep) {
    at::set_num_threads(1);
    auto const text = read_file(OSORA_SOURCE_DIR "/tests/data/train/curve.json", 1 << 20);
    ASSERT_TRUE(text.has_value());
    auto const recorded = protocol::parse_json(*text);
    ASSERT_TRUE(recorded.has_value());
    auto const& losses = recorded->at("loss").as_array();
    auto const& norms = recorded->at("grad_norm").as_array();
    ASSERT_EQ(losses.size(), static_cast<std::size_t>(kSteps));

    Stdit3Training training;
    training.flow.latent_frames = LatentFrames::pixels;
    training.seed = 1024;
    Stdit3 model(stdit3_config("stdit3-tiny").value());
    model.initialise(1);  // rope.freqs
    set_initial(model.parameters());
    auto const job = curve_job();
    Trainer trainer(job, std::make_unique<Stdit3Objective>(std::move(model), training), {});
    double worst_loss = 0, worst_norm = 0;
    for (int step = 0; step < kSteps; ++step) {
        auto const output = step_of(trainer, step);
        auto const at = static_cast<std::size_t>(step);
        auto const off = [](double ours, double theirs) {
            return std::abs(ours - theirs) / theirs;
        };
        double const loss_off = off(output.loss, losses[at].to_number<double>());
        EXPECT_LE(loss_off, 1e-3) << "step " << step;
        worst_loss = std::max(worst_loss, loss_off);
        worst_norm = std::max(worst_norm, off(output.grad_norm, norms[at].to_number<double>()));
    }
    RecordProperty("largest_loss_difference", std::to_string(worst_loss));
    RecordProperty("largest_grad_norm_difference", std::to_string(worst_norm));
    EXPECT_LE(worst_norm, 1e-2);
}

}  // namespace
}  // namespace osora::worker
