// A rehearsal asks for the collectives that the trainer asks for: kind, size and order, recorded at
// the backend on both sides.
#include "worker/jobs/rehearse/rehearsal_step.hpp"
#include "tests/unit/worker/jobs/recording_backend.hpp"
#include "tests/unit/worker/parallel/ranks.hpp"
#include "worker/jobs/objectives.hpp"
#include "worker/model/stdit/stdit3.hpp"
#include "worker/parallel/stop_vote.hpp"
#include "worker/train/exchange_options.hpp"
#include "worker/train/trainable.hpp"
#include "worker/train/trainer.hpp"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <ctime>
#include <mutex>

namespace osora::worker {
namespace {

using Calls = std::vector<std::string>;
using Costs = std::vector<protocol::CollectiveCost>;

constexpr int kSteps = 2;

/// What of a run decides its collectives.
struct Case {
    std::string name;
    std::string collectives = "bucketed";
    bool overlap = true;
    int zero_stage = 0;
    std::string precision = "fp32", reduce_dtype = "";
    int lora_rank = 0;
};

plan::WorkerJob job_of(Case const& wanted) {
    plan::WorkerJob job;
    job.config.debug.collectives = wanted.collectives;
    job.config.parallel.overlap = wanted.overlap;
    job.config.optim.lora_rank = wanted.lora_rank;
    job.plan.chosen.dp_size = 2;
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

/// As TrainLoop::one_step, two micro-batches a step.
std::vector<Calls> trained(plan::WorkerJob const& job, Costs& counted) {
    return record([&](Group const& group) {
        Notices notices;
        auto objective = make_objective(job, Device(), {}, notices).value();
        ASSERT_TRUE(choose_trainable(objective->parameters(), job.config.optim, 1).has_value());
        Trainer trainer(job, std::move(objective), {.all = group});
        StopVote vote(group);
        std::vector<std::uint8_t> const pixels(2 * 1 * 16 * 16 * 3, 100);
        for (int step = 0; step < kSteps; ++step) {
            StepInput input;
            input.step = step;
            input.pixels = pixels;
            input.samples = 2;
            input.frames = 1;
            input.height = input.width = 16;
            input.identities = {{.id = 1, .fps = 24}, {.id = 2, .fps = 24}};
            input.global_samples = 4;
            vote.begin(Vote::go_on);
            auto const output = trainer.step(input);
            ASSERT_TRUE(output.has_value());
            if (group.rank() == 0) counted = output->collectives;
            ASSERT_TRUE(vote.finish().has_value());
        }
    });
}

Parameters trained_of(plan::WorkerJob const& job) {
    Stdit3 const model(stdit3_config("stdit3-tiny").value(), at::TensorOptions().device(at::kMeta));
    Parameters parameters = model.parameters();
    EXPECT_TRUE(choose_trainable(parameters, job.config.optim, 1).has_value());
    return parameters;
}

RehearsalStep rehearsal_of(plan::WorkerJob const& job, std::optional<Group> group,
                           int threads = 1) {
    return {trained_of(job),
            {.all = std::move(group)},
            {.ranks = exchange_options(job),
             .type = scalar_type_of(job.plan.chosen.precision),
             .work = {.threads = threads}}};
}

std::vector<Calls> rehearsed(plan::WorkerJob const& job, plan::BucketCompute const& compute,
                             Costs& counted) {
    return record([&](Group const& group) {
        auto rehearsal = rehearsal_of(job, group);
        StopVote vote(group);
        for (int step = 0; step < kSteps; ++step) {
            vote.begin(Vote::go_on);
            auto const times = rehearsal.run(compute, 2, {});
            ASSERT_TRUE(times.has_value());
            if (group.rank() == 0) counted = times->collectives;
            ASSERT_TRUE(vote.finish().has_value());
        }
    });
}

class SameCollectives : public testing::TestWithParam<Case> {};

TEST_P(SameCollectives, AsTheTrainer) {
    at::set_num_threads(1);
    auto const job = job_of(GetParam());
    Costs in_training, in_rehearsal;
    auto const expected = trained(job, in_training);
    EXPECT_EQ(rehearsed(job, {}, in_rehearsal), expected);
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

// Two micro-batches of the tiny network, counted by hand: each parameter once, in fp32.
TEST(RehearsalStep, AllGradientsAreReducedOnceAStep) {
    at::set_num_threads(1);
    std::int64_t bytes = 0;
    std::size_t tensors = 0;
    for (auto const& each : trained_of(job_of({})).all()) {
        if (each.kind != TensorKind::trainable) continue;
        bytes += 4 * each.tensor.numel();
        ++tensors;
    }
    Costs counted;
    static_cast<void>(rehearsed(job_of({}), {}, counted));
    ASSERT_EQ(counted.size(), 1u);
    EXPECT_EQ(counted[0].bytes, bytes);
    EXPECT_EQ(counted[0].calls, (bytes + (2 << 20) - 1) / (2 << 20));
    static_cast<void>(rehearsed(job_of({"", "per_parameter"}), {}, counted));
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

// The last layer costs nothing, each block half of backward (in proportion to its parameters), the
// embedder nothing again: no gradient is there earlier.
TEST(RehearsedNetwork, GradientsAppearAsTheirBlocksAreDone) {
    Parameters sizes(at::TensorOptions().device(at::kMeta));
    std::pair<char const*, int> const rows[] = {{"x_embedder.weight", 4},
                                                {"spatial_blocks.0.a", 1},
                                                {"spatial_blocks.0.b", 3},
                                                {"temporal_blocks.0.a", 4},
                                                {"final_layer.weight", 4}};
    std::size_t const units[] = {0, 1, 1, 2, 3};
    for (std::size_t i = 0; i < 5; ++i) {
        sizes.enter_unit(units[i]);
        sizes.add(rows[i].first, {rows[i].second});
    }
    RehearsedNetwork network(sizes, {});
    NotedUnits gate;
    network.parameters().add_gate(gate);
    std::vector<std::pair<std::string, double>> found;
    auto const start = std::chrono::steady_clock::now();
    for (NamedTensor const& each : network.parameters().all()) {
        each.tensor.register_hook([&found, &each, start](at::Tensor const& gradient) {
            EXPECT_EQ(gradient.sizes(), each.tensor.sizes());
            found.emplace_back(
                each.name,
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        });
    }
    network.begin_step([] { return 0.02; });  // has waited for others
    network.forward(0.01, 0.03, 0.08).backward();
    EXPECT_EQ(gate.seen, (Calls{"open 0", "close 0", "open 1", "close 1", "open 2", "close 2",
                                "open 3", "close 3"}));
    double const begun = 0.01 + 0.03 + 0.02;
    std::vector<std::pair<std::string, double>> const least{{"final_layer.weight", begun},
                                                            {"temporal_blocks.0.a", begun + 0.04},
                                                            {"spatial_blocks.0.b", begun + 0.07},
                                                            {"spatial_blocks.0.a", begun + 0.08},
                                                            {"x_embedder.weight", begun + 0.08}};
    ASSERT_EQ(found.size(), least.size());
    for (std::size_t i = 0; i < least.size(); ++i) {
        EXPECT_EQ(found[i].first, least[i].first);
        EXPECT_GE(found[i].second, least[i].second - 1e-6);
    }
}

TEST(RehearsalStep, OwnWorkTakesTheTimeItIsGiven) {
    run_ranks(2, [&](Group const& group) {
        auto rehearsal = rehearsal_of(job_of({}), group);
        double arrived_s = 0;
        auto const start = std::chrono::steady_clock::now();
        auto const passed = [&] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        };
        plan::BucketCompute const compute{
            .forward_s = 0.05, .backward_s = 0.1, .optimizer_s = 0.02, .source = {}};
        auto const times = rehearsal.run(compute, 1, [&] { arrived_s = passed(); }).value();
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
    auto const rehearsal = rehearsal_of(job_of({}), std::nullopt, 0);
    double const before = processor_s();
    rehearsal.work_for(0.2);
    EXPECT_LT(processor_s() - before, 0.1);
}

TEST(RehearsalStep, APeerThatIsGoneIsAnError) {
    run_ranks(2, [&](Group const& group) {
        auto rehearsal = rehearsal_of(job_of({}), group);
        if (group.rank() == 1) return;
        auto const failed = rehearsal.run({}, 1, {});
        ASSERT_TRUE(failed.has_error());
        EXPECT_EQ(failed.error().code, Errc::unreachable);
    });
}

}  // namespace
}  // namespace osora::worker
