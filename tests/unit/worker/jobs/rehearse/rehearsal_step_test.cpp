// A rehearsal asks for the collectives that the trainer asks for: kind, size and order, recorded at
// the backend on both sides.
#include "worker/jobs/rehearse/rehearsal_step.hpp"
#include "tests/unit/worker/jobs/recording_backend.hpp"
#include "tests/unit/worker/parallel/ranks.hpp"
#include "worker/jobs/objectives.hpp"
#include "worker/model/stdit/stdit3.hpp"
#include "worker/parallel/stop_vote.hpp"
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

plan::WorkerJob job_with(std::string const& collectives, bool overlap) {
    plan::WorkerJob job;
    job.config.debug.collectives = collectives;
    job.config.parallel.overlap = overlap;
    job.plan.chosen.grad_bucket_mib = 2;
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
        Trainer trainer(job, make_objective(job, Device(), {}, notices).value(), {.all = group});
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

std::vector<ParameterSize> tiny_parameters() {
    Stdit3 const model(stdit3_config("stdit3-tiny").value(), at::TensorOptions().device(at::kMeta));
    std::vector<ParameterSize> sizes;
    for (auto const& each : model.parameters().all()) {
        if (each.kind == TensorKind::trainable) sizes.push_back({each.name, each.tensor.numel()});
    }
    return sizes;
}

RehearsalPlan plan_of(plan::WorkerJob const& job) {
    return make_rehearsal_plan(
        tiny_parameters(),
        {.world_size = 2,
         .grad_bucket_mib = static_cast<double>(job.plan.chosen.grad_bucket_mib),
         .way = reduce_way(job.config.debug.collectives, job.config.parallel.overlap)});
}

std::vector<Calls> rehearsed(plan::WorkerJob const& job, plan::BucketCompute const& compute,
                             Costs& counted) {
    return record([&](Group const& group) {
        RehearsalStep rehearsal(plan_of(job), group, Device(), 1);
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

class SameCollectives : public testing::TestWithParam<std::pair<char const*, bool>> {};

TEST_P(SameCollectives, AsTheTrainer) {
    at::set_num_threads(1);
    auto const job = job_with(GetParam().first, GetParam().second);
    Costs in_training, in_rehearsal;
    auto const expected = trained(job, in_training);
    EXPECT_EQ(rehearsed(job, {}, in_rehearsal), expected);
    EXPECT_EQ(counts_of(in_rehearsal), counts_of(in_training));
    EXPECT_EQ(expected[0], expected[1]);
    auto const parameters = tiny_parameters().size();
    std::size_t const calls = expected[0].size() / kSteps - 1;  // without the vote
    bool const each = job.config.debug.collectives == "per_parameter";
    EXPECT_EQ(calls, each ? parameters + 2 : plan_of(job).bucket_items.size());
    // What was counted is what the backend was asked for.
    ASSERT_EQ(in_training.size(), each ? 2u : 1u);
    EXPECT_EQ(in_training[0].calls, static_cast<std::int64_t>(each ? parameters : calls));
    std::int64_t bytes = 0;
    for (auto const& parameter : tiny_parameters()) bytes += 4 * parameter.items;
    EXPECT_EQ(in_training[0].bytes, bytes);
    if (each) {
        EXPECT_EQ(in_training[1].calls, 2);
    }
    EXPECT_GT(calls, 1u);
}
INSTANTIATE_TEST_SUITE_P(Ways, SameCollectives,
                         testing::Values(std::pair{"bucketed", true}, std::pair{"bucketed", false},
                                         std::pair{"per_parameter", true}));

TEST(RehearsalStep, OwnWorkTakesTheTimeItIsGiven) {
    run_ranks(2, [&](Group const& group) {
        RehearsalStep rehearsal(plan_of(job_with("bucketed", true)), group, Device(), 1);
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
    RehearsalStep rehearsal(plan_of(job_with("bucketed", true)), std::nullopt, Device(), 0);
    double const before = processor_s();
    rehearsal.work_for(0.2);
    EXPECT_LT(processor_s() - before, 0.1);
}

TEST(RehearsalStep, APeerThatIsGoneIsAnError) {
    run_ranks(2, [&](Group const& group) {
        RehearsalStep rehearsal(plan_of(job_with("bucketed", true)), group, Device(), 1);
        if (group.rank() == 1) return;
        auto const failed = rehearsal.run({}, 1, {});
        ASSERT_TRUE(failed.has_error());
        EXPECT_EQ(failed.error().code, Errc::unreachable);
    });
}

}  // namespace
}  // namespace osora::worker
