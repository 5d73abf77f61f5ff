// Ranks of ZeRO stage 3 begin with their parts alone: memory before the first step and in a step
// against the formulas, losses against one rank's; from the seed, a file of weights, a checkpoint.
#include "plan/memory.hpp"
#include "plan/model/model_sizes.hpp"
#include "tests/kit/counted_memory.hpp"
#include "tests/unit/worker/parallel/ranks.hpp"
#include "worker/jobs/objectives.hpp"
#include "worker/memory/counted_allocator.hpp"
#include "worker/model/weights/safetensors.hpp"
#include "worker/train/trainable.hpp"
#include "worker/train/trainer.hpp"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <ostream>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;

constexpr int kRanks = 8, kSide = 16, kFrames = 2, kSteps = 2;
constexpr std::int64_t kItemBytes = 4, kBucketBytes = 1 << 20;
/// Of a trained number in fp32: weight, gradient, both moments, average.
constexpr std::int64_t kStateBytes = 5 * kItemBytes;

enum class From { seed, file, checkpoint };

struct Start {
    char const* arch;
    From from = From::seed;
    int lora_rank = 0;
    int tp = 1;
};
void PrintTo(Start const& start, std::ostream* out) {
    constexpr std::array kFrom{"seed", "file", "checkpoint"};
    *out << start.arch << " from " << kFrom.at(static_cast<std::size_t>(start.from)) << ", LoRA "
         << start.lora_rank << ", tp " << start.tp;
}

plan::WorkerJob job_of(Start const& start, int ranks) {
    plan::WorkerJob job;
    job.config.model.arch = start.arch;
    job.config.model.depth = 6;
    if (start.arch[0] == 'm') job.config.model.single_depth = 6;
    auto& optim = job.config.optim;
    optim.lr = 1e-3;
    optim.warmup_steps = 0;
    optim.eps = 1e-3;  // else rounding decides the sign of steps without a gradient
    optim.lora_rank = start.lora_rank;
    job.config.train.steps = 100;
    job.plan.chosen.zero_stage = ranks > 1 ? 3 : 0;
    job.plan.chosen.grad_bucket_mib = kBucketBytes >> 20;
    return job;
}

StepInput input_of(int step, int first, int samples, std::vector<std::uint8_t>& pixels) {
    constexpr int kBytes = kFrames * kSide * kSide * 3;
    pixels.clear();
    for (int i = first * kBytes; i < (first + samples) * kBytes; ++i)
        pixels.push_back(static_cast<std::uint8_t>(128 + 100 * std::sin(0.37 * i)));
    StepInput input;
    input.step = step;
    input.pixels = pixels;
    input.samples = samples;
    input.frames = kFrames;
    input.height = input.width = kSide;
    input.global_samples = kRanks;
    for (int i = first; i < first + samples; ++i)
        input.identities.push_back({.id = static_cast<std::uint64_t>(i),
                                    .epoch = static_cast<std::uint64_t>(step),
                                    .fps = 8});
    return input;
}

struct Course {
    fs::path from = {};     // a checkpoint; empty: none
    fs::path save_to = {};  // a folder, at the end; empty: not at all
};

struct Outcome {
    std::vector<double> losses = std::vector<double>(kSteps);
    std::int64_t start_peak_bytes = 0;  // of the rank with the most
    std::int64_t step_peak_bytes = 0;   // the mean of the ranks
    std::int64_t trained = 0, untrained_bytes = 0, largest_unit_bytes = 0;
};

void describe(Parameters const& parameters, Outcome& outcome) {
    outcome.trained = parameters.trainable_count();
    outcome.untrained_bytes = 0;
    for (NamedTensor const& each : parameters.all())
        if (each.kind != TensorKind::trainable)
            outcome.untrained_bytes += kItemBytes * each.tensor.numel();
    auto const units = parameters.trainable_units();
    auto const tensors = parameters.trainable();
    std::vector<std::int64_t> bytes(units.back() + 1);
    for (std::size_t i = 0; i < units.size(); ++i)
        bytes[units[i]] += kItemBytes * tensors[i].numel();
    outcome.largest_unit_bytes = *std::ranges::max_element(bytes);
}

/// The first steps as run_train_job() makes them.
class Ranks {
public:
    Ranks(plan::WorkerJob job, Course course, int ranks, int tp)
        : job_(std::move(job)), course_(std::move(course)), ranks_(ranks), tp_(tp), all_(ranks) {}

    Outcome run() {
        before_bytes_ = memory_.allocated_bytes();
        if (ranks_ == 1)
            body(std::nullopt);
        else
            run_ranks(ranks_, [&](Group const& group) { body(group); });
        return outcome_;
    }

private:
    void body(std::optional<Group> const& group) {
        at::set_num_threads(1);
        auto const groups = split_ranks(group, {.tp_size = tp_}).value();
        CountedMemory const counted;
        auto trainer = begin(groups);
        {
            std::lock_guard const lock(mutex_);
            outcome_.start_peak_bytes = std::max(outcome_.start_peak_bytes, counted.peak_bytes());
            describe(trainer->parameters(), outcome_);
        }
        all_.arrive_and_wait();
        memory_.reset_peak();
        all_.arrive_and_wait();
        int const rank = group ? group->rank() : 0, replicas = ranks_ / tp_;
        std::vector<std::uint8_t> pixels;
        for (int i = 0; i < kSteps; ++i) {
            int const step = i + (course_.from.empty() ? 0 : kSteps), own = kRanks / replicas;
            auto const output = trainer->step(input_of(step, rank / tp_ * own, own, pixels));
            std::lock_guard const lock(mutex_);
            outcome_.losses[static_cast<std::size_t>(i)] += output.value().loss / ranks_;
        }
        all_.arrive_and_wait();
        if (rank != 0) return;
        outcome_.step_peak_bytes = (memory_.peak_bytes() - before_bytes_) / ranks_;
        if (!course_.save_to.empty()) save(*trainer);
    }

    std::unique_ptr<Trainer> begin(RankGroups const& groups) {
        Notices notices;
        auto objective = make_objective(job_, Device(), groups, notices).value();
        choose_trainable(objective->parameters(), job_.config.optim, 7).value();
        auto trainer = std::make_unique<Trainer>(job_, std::move(objective), groups);
        if (!course_.from.empty()) trainer->restore(load_checkpoint(course_.from).value()).value();
        return trainer;
    }

    void save(Trainer& trainer) {
        CheckpointState state;
        state.step = kSteps;
        trainer.describe(state);
        save_checkpoint(course_.save_to, state, trainer.tensors(), 1).value();
    }

    plan::WorkerJob job_;
    Course course_;
    int ranks_, tp_;
    CountedAllocator& memory_ = CountedAllocator::install();
    std::int64_t before_bytes_ = 0;
    std::barrier<> all_;
    std::mutex mutex_;
    Outcome outcome_;
};

Outcome run(plan::WorkerJob const& job, Course const& course, int ranks, int tp = 1) {
    return Ranks(job, course, ranks, tp).run();
}

class DividedStart : public testing::TestWithParam<Start> {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "osora-divided-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }
    void TearDown() override { fs::remove_all(folder_); }

    /// Other weights than those of the run's seed.
    fs::path weights(Start const& start) {
        auto job = job_of(start, 1);
        job.config.train.seed = 9;
        Notices notices;
        auto const objective = make_objective(job, Device(), {}, notices).value();
        save_safetensors(folder_ / "weights.safetensors", objective->parameters().all()).value();
        return folder_ / "weights.safetensors";
    }

    fs::path folder_;
};

TEST_P(DividedStart, NeverHoldsTheWhole) {
    Start const start = GetParam();
    Course course;
    auto job = job_of(start, kRanks), alone = job_of(start, 1);
    if (start.from == From::file)
        job.config.model.init = alone.config.model.init = weights(start).string();
    if (start.from == From::checkpoint) {
        run(alone, {.save_to = folder_}, 1);
        course.from = folder_ / "step-00000002";
    }
    Outcome const expected = run(alone, course, 1);
    Outcome const got = run(job, course, kRanks, start.tp);
    for (std::size_t i = 0; i < kSteps; ++i)
        EXPECT_NEAR(got.losses[i], expected.losses[i], 1e-5 * expected.losses[i]) << i;

    // Slices of tensor parallel ranks make the parts and the units no larger.
    auto const states = static_cast<double>(kStateBytes * got.trained) / kRanks;
    auto const others = static_cast<double>(got.untrained_bytes);
    double const bucket = static_cast<double>(got.largest_unit_bytes + kBucketBytes);
    double const peak = static_cast<double>(got.start_peak_bytes);
    EXPECT_LE(peak, 1.02 * states + others + bucket);
    EXPECT_GE(peak, 0.99 * states + others);
    if (start.lora_rank == 0) {
        EXPECT_LT(1.02 * states + bucket, static_cast<double>(kItemBytes * got.trained));
    }

    if (start.tp > 1) return;
    plan::MemoryQuery query;
    query.shape = plan::model_shape(job.config.model).value();
    query.bucket = {kSide, kSide, kFrames};
    query.dp_size = kRanks;
    query.zero_stage = 3;
    query.accumulates = false;
    query.lora_rank = start.lora_rank;
    query.grad_bucket_mib = kBucketBytes >> 20;
    auto const formula = static_cast<double>(plan::rank_memory(query).tensor_bytes());
    EXPECT_LE(static_cast<double>(got.step_peak_bytes), 1.05 * formula);
    EXPECT_GE(static_cast<double>(got.step_peak_bytes), states + others);
}

INSTANTIATE_TEST_SUITE_P(Starts, DividedStart,
                         testing::Values(Start{"stdit3-tiny"}, Start{"mmdit-tiny"},
                                         Start{"stdit2-tiny", From::file},
                                         Start{"mmdit-tiny", From::checkpoint},
                                         Start{"stdit3-tiny", From::seed, 4},
                                         Start{"mmdit-tiny", From::file, 0, 2}));

}  // namespace
}  // namespace osora::worker
