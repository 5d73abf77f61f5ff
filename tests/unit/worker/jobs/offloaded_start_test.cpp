// A run whose frozen blocks are in host memory never has more than two of them on its device, from
// the first weights on; its peak is the plan's.
#include "plan/memory.hpp"
#include "plan/model/model_sizes.hpp"
#include "tests/kit/counted_memory.hpp"
#include "worker/jobs/objectives.hpp"
#include "worker/memory/counted_allocator.hpp"
#include "worker/model/weights/safetensors.hpp"
#include "worker/train/trainable.hpp"
#include "worker/train/trainer.hpp"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <ostream>
#include <string_view>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

constexpr int kFrames = 4, kSamples = 2;

struct Start {
    char const* arch;
    int lora_rank = 0;
    std::vector<std::string> freeze = {};
    char const* recompute = "none";
    char const* precision = "fp32";
    bool from_file = false;
    int side = 32;
};
void PrintTo(Start const& start, std::ostream* out) {
    *out << start.arch << ", LoRA " << start.lora_rank << ", " << start.freeze.size()
         << " frozen, recompute " << start.recompute << ", " << start.precision
         << (start.from_file ? ", from a file" : "");
}

plan::WorkerJob job_of(Start const& start) {
    plan::WorkerJob job;
    job.config.model.arch = start.arch;
    job.config.model.hidden = 192;
    job.config.model.depth = 6;
    if (start.arch[0] == 'm') job.config.model.single_depth = 6;
    job.config.optim.lora_rank = start.lora_rank;
    job.config.optim.freeze = start.freeze;
    job.config.train.steps = 100;
    job.plan.chosen.precision = start.precision;
    job.plan.chosen.recompute = start.recompute;
    job.plan.chosen.offload_frozen = true;
    return job;
}

struct Peaks {
    double start = 0, step = 0;  // bytes
    double loss = 0;             // of the second step
};

Peaks peaks_of(plan::WorkerJob const& job, int side) {
    at::set_num_threads(1);
    auto& memory = CountedAllocator::install();
    std::int64_t const before = memory.allocated_bytes();
    Peaks peaks;
    CountedMemory const counted;
    Notices notices;
    auto objective = make_objective(job, Device(), {}, notices).value();
    choose_trainable(objective->parameters(), job.config.optim, 7).value();
    Trainer trainer(job, std::move(objective), {});
    peaks.start = static_cast<double>(counted.peak_bytes());
    std::vector<std::uint8_t> pixels;
    for (int i = 0; i < kSamples * kFrames * side * side * 3; ++i)
        pixels.push_back(static_cast<std::uint8_t>(128 + 100 * std::sin(0.37 * i)));
    for (int step = 0; step < 2; ++step) {
        memory.reset_peak();
        StepInput input;
        input.step = step;
        input.pixels = pixels;
        input.samples = input.micro_batch_size = input.global_samples = kSamples;
        input.frames = kFrames;
        input.height = input.width = side;
        for (std::uint64_t i = 0; i < kSamples; ++i)
            input.identities.push_back(
                {.id = i, .epoch = static_cast<std::uint64_t>(step), .fps = 8});
        peaks.loss = trainer.step(input).value().loss;
    }
    peaks.step = static_cast<double>(memory.peak_bytes() - before);
    return peaks;
}

plan::MemoryQuery query_of(plan::WorkerJob const& job, int side) {
    plan::MemoryQuery query;
    query.shape = plan::model_shape(job.config.model).value();
    query.bucket = {side, side, kFrames};
    query.micro_batch_size = kSamples;
    query.accumulates = false;
    query.precision = job.plan.chosen.precision;
    query.lora_rank = job.config.optim.lora_rank;
    query.freeze = job.config.optim.freeze;
    query.activations.recompute = job.plan.chosen.recompute;
    query.offload_frozen = job.plan.chosen.offload_frozen;
    return query;
}

class OffloadedStart : public testing::TestWithParam<Start> {};

TEST_P(OffloadedStart, HoldsTwoBlocksAndWhatThePlanSays) {
    Start const start = GetParam();
    auto job = job_of(start);
    fs::path const file =
        fs::temp_directory_path() / ("osora-offloaded-" + std::to_string(getpid()));
    if (start.from_file) {
        auto other = job;
        other.config.train.seed = 9;
        other.plan.chosen.offload_frozen = false;
        Notices notices;
        auto const objective = make_objective(other, Device(), {}, notices).value();
        save_safetensors(file, objective->parameters().all()).value();
        job.config.model.init = file.string();
    }
    Peaks const got = peaks_of(job, start.side);
    auto plain = job;
    plain.plan.chosen.offload_frozen = false;
    Peaks const expected = peaks_of(plain, start.side);
    fs::remove(file);
    EXPECT_EQ(got.loss, expected.loss);

    plan::RankMemory const predicted = plan::rank_memory(query_of(job, start.side));
    plan::RankMemory const of_plain = plan::rank_memory(query_of(plain, start.side));
    auto const bytes = static_cast<double>(predicted.tensor_bytes());
    double const saved = static_cast<double>(of_plain.tensor_bytes()) - bytes;
    EXPECT_NEAR(saved / (expected.step - got.step), 1, 0.03);
    // Of frozen linear layers the plan counts inputs that nobody keeps; small peaks of recomputed
    // blocks differ by as much as without offloading.
    if (start.freeze.empty() && start.recompute == std::string_view("none")) {
        EXPECT_NEAR(bytes / got.step, 1, 0.03);
    }
    // The whole model is larger than what a run may hold before its first pass.
    auto const all = static_cast<double>(of_plain.parameter_bytes);
    EXPECT_GT(expected.start, all);
    EXPECT_LT(got.start, 0.6 * all);
    EXPECT_LT(got.step, expected.step - 0.6 * static_cast<double>(predicted.offloaded_bytes));
}

std::vector<std::string> const kAllBlocks{"double_blocks.", "single_blocks."};

INSTANTIATE_TEST_SUITE_P(Starts, OffloadedStart,
                         testing::Values(Start{"stdit3-tiny", 4},
                                         Start{"stdit3-tiny", 4, {}, "full"},
                                         Start{"mmdit-tiny", 4, {}, "none", "fp32", true},
                                         Start{"mmdit-tiny", 0, kAllBlocks},
                                         Start{"mmdit-tiny", 0, kAllBlocks, "full"},
                                         Start{"stdit3-tiny", 4, {}, "none", "bf16", false, 16}));

}  // namespace
}  // namespace osora::worker
