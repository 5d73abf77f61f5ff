// A rehearsal asks for the collectives that the trainer asks for: kind, size and order, recorded at
// the backend on both sides.
#include "worker/jobs/rehearse/rehearsal_step.hpp"
#include "plan/model/model_cost.hpp"
#include "plan/model/model_description.hpp"
#include "plan/step_communication.hpp"
#include "tests/unit/worker/jobs/recording_backend.hpp"
#include "tests/unit/worker/parallel/ranks.hpp"
#include "worker/jobs/objectives.hpp"
#include "worker/model/stdit/stdit3.hpp"
#include "worker/parallel/stop_vote.hpp"
#include "worker/train/trainable.hpp"
#include "worker/train/trainer.hpp"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <ctime>
#include <map>
#include <mutex>

namespace osora::worker {
namespace {

using Calls = std::vector<std::string>;
using Costs = std::vector<protocol::CollectiveCost>;

constexpr int kSteps = 2;
constexpr int kFrames = 2, kSide = 16;  // of clips, two a rank and step

/// What of a run decides its collectives.
struct Case {
    std::string name = {};
    std::string collectives = "bucketed";
    bool overlap = true;
    int zero_stage = 0;
    std::string precision = "fp32", reduce_dtype = "";
    int lora_rank = 0;
    std::string arch = "stdit3-tiny", recompute = "none";
    int tp = 1, sp = 1, pp = 1, virtual_stages = 1, dp = 2;
    bool ring = false;
    [[nodiscard]] int ranks() const { return tp * sp * pp * dp; }
};

plan::WorkerJob job_of(Case const& wanted) {
    plan::WorkerJob job;
    job.config.debug.collectives = wanted.collectives;
    job.config.parallel.overlap = wanted.overlap;
    job.config.optim.lora_rank = wanted.lora_rank;
    job.config.model.arch = wanted.arch;
    job.plan.chosen.tp_size = wanted.tp;
    job.plan.chosen.sp_size = wanted.sp;
    job.plan.chosen.pp_size = wanted.pp;
    job.plan.chosen.dp_size = wanted.dp;
    job.plan.chosen.virtual_stages = wanted.virtual_stages;
    job.plan.chosen.recompute = wanted.recompute;
    if (wanted.ring) job.plan.chosen.sp_kind = "ring";
    plan::BucketPlan bucket;
    bucket.num_frames = kFrames;
    bucket.height = bucket.width = kSide;
    bucket.micro_batch_size = 1;
    bucket.grad_accum_steps = 2;
    bucket.global_batch_size = 2 * wanted.dp;
    job.plan.chosen.buckets = {bucket};
    job.plan.chosen.grad_bucket_mib = 2;
    job.plan.chosen.zero_stage = wanted.zero_stage;
    job.plan.chosen.precision = wanted.precision;
    job.plan.chosen.reduce_dtype = wanted.reduce_dtype;
    return job;
}

/// What was counted of a step, as a recording backend notes it: "all_reduce 3 12 B".
std::vector<std::string> counts_of(Costs const& costs) {
    std::vector<std::string> lines;
    for (auto const& each : costs) {
        lines.push_back(
            fmt::format("{} {} {} B over {}", each.name, each.calls, each.bytes, each.ranks));
    }
    return lines;
}

/// Runs `body(group)` on two ranks and gives what each asked of its backend.
std::vector<Calls> record(std::function<void(Group const&)> const& body) {
    std::vector<Calls> calls(2);
    std::mutex writing;
    run_ranks(2, [&](Group const& joined) {
        auto const backend = c10::make_intrusive<RecordingBackend>(joined);
        body(make_group(nullptr, backend));
        std::scoped_lock const lock(writing);
        calls[static_cast<std::size_t>(joined.rank())] = backend->calls;
    });
    return calls;
}

RankGroups groups_of(plan::WorkerJob const& job, Group const& group) {
    auto const& chosen = job.plan.chosen;
    return split_ranks(group, {.tp_size = chosen.tp_size,
                               .sp_size = chosen.sp_size,
                               .pp_size = chosen.pp_size,
                               .virtual_stages = chosen.virtual_stages,
                               .attention = chosen.sp_kind == "ring" ? AttentionForm::ring
                                                                     : AttentionForm::exchange})
        .value();
}

/// As TrainLoop::one_step, two micro-batches a step. Gives what the last step counted.
Costs train(plan::WorkerJob const& job, RankGroups const& groups) {
    Costs counted;
    Notices notices;
    auto objective = make_objective(job, Device(), groups, notices).value();
    EXPECT_TRUE(choose_trainable(objective->parameters(), job.config.optim, 1).has_value());
    Trainer trainer(job, std::move(objective), groups);
    StopVote vote(groups.all);
    std::vector<std::uint8_t> const pixels(std::size_t{2} * kFrames * kSide * kSide * 3, 100);
    for (int step = 0; step < kSteps; ++step) {
        StepInput input;
        input.step = step;
        input.pixels = pixels;
        input.samples = 2;
        input.frames = kFrames;
        input.height = input.width = kSide;
        input.identities = {{.id = 1, .fps = 24}, {.id = 2, .fps = 24}};
        input.global_samples = 2 * job.plan.chosen.dp_size;
        vote.begin(Vote::go_on);
        auto const output = trainer.step(input);
        EXPECT_TRUE(output.has_value()) << (output ? "" : output.error().message);
        counted = output->collectives;
        EXPECT_TRUE(vote.finish().has_value());
    }
    return counted;
}

Costs rehearse(plan::WorkerJob const& job, RankGroups const& groups) {
    Costs counted;
    auto const rehearsal = RehearsalStep::make(job, groups).value();
    StopVote vote(groups.all);
    for (int step = 0; step < kSteps; ++step) {
        vote.begin(Vote::go_on);
        auto const times = rehearsal->run(0, {}, {});
        EXPECT_TRUE(times.has_value());
        counted = times->collectives;
        EXPECT_TRUE(vote.finish().has_value());
    }
    return counted;
}

using Way = Costs (*)(plan::WorkerJob const&, RankGroups const&);

std::vector<Calls> recorded(Way run, plan::WorkerJob const& job, Costs& counted) {
    return record([&](Group const& group) {
        Costs const own = run(job, {.all = group});
        if (group.rank() == 0) counted = own;
    });
}

class SameCollectives : public testing::TestWithParam<Case> {};

TEST_P(SameCollectives, AsTheTrainer) {
    at::set_num_threads(1);
    auto const job = job_of(GetParam());
    Costs in_training, in_rehearsal;
    auto const expected = recorded(train, job, in_training);
    EXPECT_EQ(recorded(rehearse, job, in_rehearsal), expected);
    EXPECT_EQ(counts_of(in_rehearsal), counts_of(in_training));
    EXPECT_EQ(expected[0], expected[1]);
    EXPECT_GE(expected[0].size(), 2u * kSteps);  // with the vote
}
INSTANTIATE_TEST_SUITE_P(
    Ways, SameCollectives,
    testing::Values(Case{"overlapped"}, Case{.name = "after", .overlap = false},
                    Case{"per_parameter", "per_parameter"}, Case{.name = "zero1", .zero_stage = 1},
                    Case{.name = "zero2", .zero_stage = 2}, Case{.name = "zero3", .zero_stage = 3},
                    Case{.name = "zero2_after", .overlap = false, .zero_stage = 2},
                    Case{.name = "bf16", .precision = "bf16"},
                    Case{.name = "zero2_bf16", .zero_stage = 2, .precision = "bf16"},
                    Case{.name = "reduced_in_bf16", .zero_stage = 1, .reduce_dtype = "bf16"},
                    Case{.name = "lora", .lora_rank = 4},
                    Case{.name = "lora_zero3", .zero_stage = 3, .lora_rank = 4}),
    [](auto const& info) { return info.param.name; });

/// Ranks that share tokens, layers and blocks.
class SameExchanges : public testing::TestWithParam<Case> {};

TEST_P(SameExchanges, AsTheTrainer) {
    at::set_num_threads(1);
    auto const job = job_of(GetParam());
    auto const counted = [&](Way run) {
        std::vector<std::vector<std::string>> counts(static_cast<std::size_t>(GetParam().ranks()));
        std::mutex writing;
        run_ranks(GetParam().ranks(), [&](Group const& group) {
            auto const lines = counts_of(run(job, groups_of(job, group)));
            std::scoped_lock const lock(writing);
            counts[static_cast<std::size_t>(group.rank())] = lines;
        });
        return counts;
    };
    auto const expected = counted(train);
    EXPECT_EQ(counted(rehearse), expected);
    EXPECT_FALSE(expected[0].empty());
}
INSTANTIATE_TEST_SUITE_P(
    Ways, SameExchanges,
    testing::Values(
        Case{.name = "tp", .tp = 2, .dp = 1}, Case{.name = "sp", .sp = 2, .dp = 1},
        Case{.name = "ring", .sp = 2, .dp = 1, .ring = true}, Case{.name = "pp", .pp = 2, .dp = 1},
        Case{.name = "pp4_uneven", .pp = 4, .dp = 1},
        Case{.name = "virtual_stages", .pp = 2, .virtual_stages = 2, .dp = 1},
        Case{.name = "tp_zero2", .zero_stage = 2, .tp = 2},
        Case{.name = "sp_zero3", .zero_stage = 3, .sp = 2},
        Case{.name = "tp_full", .recompute = "full", .tp = 2, .dp = 1},
        Case{.name = "sp_selective", .recompute = "selective", .sp = 2, .dp = 1},
        Case{.name = "ring_full", .recompute = "full", .sp = 2, .dp = 1, .ring = true},
        Case{.name = "tp_pp_zero1", .zero_stage = 1, .tp = 2, .pp = 2},
        Case{.name = "tp_sp_lora", .lora_rank = 4, .tp = 2, .sp = 2, .dp = 1},
        Case{.name = "tp_bf16", .precision = "bf16", .tp = 2, .dp = 1},
        Case{.name = "mmdit_tp_sp", .arch = "mmdit-tiny", .tp = 2, .sp = 2, .dp = 1},
        Case{.name = "mmdit_ring", .arch = "mmdit-tiny", .sp = 2, .dp = 1, .ring = true},
        Case{.name = "mmdit_virtual", .arch = "mmdit-tiny", .pp = 2, .virtual_stages = 2},
        Case{.name = "stdit2_tp_pp", .arch = "stdit2-tiny", .tp = 2, .pp = 2, .dp = 1},
        Case{.name = "stdit2_sp_full", .arch = "stdit2-tiny", .recompute = "full", .sp = 2}),
    [](auto const& info) { return info.param.name; });

// Two micro-batches of the tiny network, counted by hand: each parameter once, in fp32.
TEST(RehearsalStep, AllGradientsAreReducedOnceAStep) {
    at::set_num_threads(1);
    std::int64_t bytes = 0;
    std::size_t tensors = 0;
    Stdit3 const model(stdit3_config("stdit3-tiny").value(), at::TensorOptions().device(at::kMeta));
    for (at::Tensor const& each : model.parameters().trainable()) {
        bytes += 4 * each.numel();
        ++tensors;
    }
    Costs counted;
    static_cast<void>(recorded(rehearse, job_of({}), counted));
    ASSERT_EQ(counted.size(), 1u);
    EXPECT_EQ(counted[0].bytes, bytes);
    EXPECT_EQ(counted[0].calls, (bytes + (2 << 20) - 1) / (2 << 20));
    static_cast<void>(recorded(rehearse, job_of({"", "per_parameter"}), counted));
    ASSERT_EQ(counted.size(), 2u);
    EXPECT_EQ(counted[0].calls, static_cast<std::int64_t>(tensors));
    EXPECT_EQ(counted[1].calls, 2);  // barriers
}

/// Notes the units that forward opens and closes.
class NotedUnits : public UnitGate {
public:
    void open(std::size_t unit) override { seen.push_back("open " + std::to_string(unit)); }
    void close(std::size_t unit, std::initializer_list<at::Tensor>) override {
        seen.push_back("close " + std::to_string(unit));
    }
    Calls seen;
};

class NotedArrival final : public torch::autograd::PostAccumulateGradHook {
public:
    explicit NotedArrival(std::function<void()> note) : note_(std::move(note)) {}
    void operator()(torch::autograd::Variable const& parameter) override {
        EXPECT_EQ(parameter.grad().sizes(), parameter.sizes());
        note_();
    }

private:
    std::function<void()> note_;
};

// The first block's gradients come when backward is nearly over, those of the last layer when it
// has hardly begun; between them, as part_flops() divides the work of a sample among the blocks.
TEST(RehearsedNetwork, GradientsAppearAsTheirBlocksAreDone) {
    at::set_num_threads(1);
    auto const job = job_of({});
    auto const network = RehearsedNetwork::make(job, {}, {}, {}).value();
    std::map<std::string, double> found;
    auto const start = std::chrono::steady_clock::now();
    for (NamedTensor const& each : network->parameters().all())
        torch::autograd::impl::set_post_acc_grad_hooks(
            each.tensor, std::make_unique<NotedArrival>([&found, &each, start] {
                found[each.name] =
                    std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            }));
    network->begin_step([] { return 0.02; });  // has waited for others
    double const forward_s = 0.06, backward_s = 0.4, begun = forward_s / 2 + 0.02;
    network->backward(0, 0, network->forward(0, forward_s), backward_s);
    plan::BucketKey const key{.height = kSide, .width = kSide, .num_frames = kFrames};
    auto const work = plan::part_flops(plan::model_shape("stdit3-tiny").value(), key);
    double all = work.first + work.last, after = work.last;
    for (double const each : work.blocks) all += each;
    // Spatial and temporal blocks alternate. A rank's two micro-batches share the step.
    for (std::size_t i = work.blocks.size(); i-- > 0;) {
        std::string const name =
            fmt::format("{}_blocks.{}.mlp.fc1.weight", i % 2 == 0 ? "spatial" : "temporal", i / 2);
        EXPECT_GE(found.at(name), begun + 0.9 * after / all * backward_s / 2) << name;
        after += work.blocks[i];
    }
    EXPECT_GE(found.at("x_embedder.proj.weight"), begun + 0.9 * backward_s / 2);
    EXPECT_LT(found.at("final_layer.linear.weight"), found.at("temporal_blocks.0.mlp.fc1.weight"));
}

// With adapters and without: weights, and slices of those that ranks share.
TEST(RehearsedNetwork, TrainsWhatThePlanCounts) {
    for (Case const& each :
         {Case{.tp = 2}, Case{.pp = 2}, Case{.tp = 2, .pp = 2}, Case{.lora_rank = 4, .tp = 2},
          Case{.lora_rank = 4, .pp = 2}, Case{.lora_rank = 4, .tp = 2, .pp = 2}}) {
        for (char const* const arch : {"stdit3-tiny", "stdit2-tiny", "mmdit-tiny"}) {
            Case wanted = each;
            wanted.arch = arch;
            wanted.dp = 1;
            auto job = job_of(wanted);
            auto const shape = plan::model_shape(arch).value();
            if (wanted.pp > 1) job.plan.chosen.run_ends = {1, shape.blocks()};
            std::mutex writing;
            std::int64_t most = 0;  // of a rank
            run_ranks(wanted.ranks(), [&](Group const& group) {
                auto const network =
                    RehearsedNetwork::make(job, groups_of(job, group), {}, {}).value();
                std::int64_t numbers = 0;
                for (at::Tensor const& one : network->parameters().trainable())
                    numbers += one.numel();
                std::scoped_lock const lock(writing);
                most = std::max(most, numbers);
            });
            plan::StepQuery query{.shape = shape};
            query.bucket = {.height = kSide, .width = kSide, .num_frames = kFrames};
            query.dp_size = 1;
            query.tp_size = wanted.tp;
            query.pp_size = wanted.pp;
            query.lora_rank = wanted.lora_rank;
            query.run_ends = job.plan.chosen.run_ends;
            // The plan counts STDiT's rotary frequencies, which are kept but not trained.
            double const frequencies = wanted.lora_rank > 0 ? 0 : shape.head_dim() / 2;
            EXPECT_NEAR(static_cast<double>(most), plan::trained_numbers(query), frequencies)
                << arch << " tp " << wanted.tp << " pp " << wanted.pp << " adapters of rank "
                << wanted.lora_rank;
        }
    }
}

TEST(RehearsalStep, OwnWorkTakesTheTimeItIsGiven) {
    run_ranks(2, [&](Group const& group) {
        auto job = job_of({});
        job.plan.chosen.buckets[0].grad_accum_steps = 1;
        auto const rehearsal = RehearsalStep::make(job, {.all = group}).value();
        double arrived_s = 0;
        auto const start = std::chrono::steady_clock::now();
        auto const passed = [&] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        };
        plan::BucketCompute const compute{
            .forward_s = 0.05, .backward_s = 0.1, .optimizer_s = 0.02, .source = {}};
        auto const times = rehearsal->run(0, compute, [&] { arrived_s = passed(); }).value();
        EXPECT_GE(times.forward_s, 0.05);
        EXPECT_GE(times.forward_s + times.backward_s, 0.15);
        EXPECT_GE(times.optimizer_s, 0.02);
        EXPECT_GE(arrived_s, 0.15);
        EXPECT_GE(times.exposed_comm_s, 0);
        EXPECT_LE(times.forward_s + times.backward_s + times.exposed_comm_s + times.optimizer_s,
                  passed() + 1e-6);
    });
}

double processor_s() {
    std::timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

TEST(RehearsalStep, OwnWorkOfNoThreadsLeavesTheProcessorIdle) {
    auto const rehearsal = RehearsalStep::make(job_of({}), {}, {.threads = 0}).value();
    double const before = processor_s();
    rehearsal->work_for(0.2);
    EXPECT_LT(processor_s() - before, 0.1);
}

TEST(RehearsalStep, APeerThatIsGoneIsAnError) {
    run_ranks(2, [&](Group const& group) {
        auto const rehearsal = RehearsalStep::make(job_of({}), {.all = group}).value();
        if (group.rank() == 1) return;
        auto const failed = rehearsal->run(0, {}, {});
        ASSERT_TRUE(failed.has_error());
        EXPECT_EQ(failed.error().code, Errc::unreachable);
    });
}

}  // namespace
}  // namespace osora::worker
