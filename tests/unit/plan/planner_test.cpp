#include "plan/planner.hpp"

#include "base/text/units.hpp"
#include "plan/buckets/cost.hpp"
#include "plan/layout/layout_search.hpp"
#include "tests/unit/plan/requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

namespace osora::plan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

Error error_of(PlanRequest const& r) {
    auto const decision = make_plan(r);
    EXPECT_TRUE(decision.has_error());
    return decision ? Error{Errc::io, ""} : decision.error();
}

std::vector<int> globals_of(PlanRequest const& r) {
    std::vector<int> globals;
    for (BucketPlan const& bucket : plan_of(r).chosen.buckets) {
        globals.push_back(bucket.global_batch_size);
    }
    return globals;
}

TEST(Planner, OneTwoAndFourRanksTrainTheSameBatches) {
    std::function<void(PlanRequest&)> const variants[] = {
        [](PlanRequest&) {},
        [](PlanRequest& r) { r.config.batch.global_batch_size = 8; },
        [](PlanRequest& r) { r.config.bucket[1].micro_batch_size = 3; },
        [](PlanRequest& r) { r.config.batch.min = 100; },
        [](PlanRequest& r) { r.config.resources.cpus_per_worker = 1; },
        [](PlanRequest& r) { r.calibration.all_reduce.b_s_per_byte = 1e-6; },
        [](PlanRequest& r) { r.cluster.nodes[0].cores = 64; }};
    for (auto const& vary : variants) {
        PlanRequest one = request(1), two = request(2), four = request(4);
        for (PlanRequest* r : {&one, &two, &four}) vary(*r);
        EXPECT_EQ(globals_of(one), globals_of(two));
        EXPECT_EQ(globals_of(one), globals_of(four));
    }
}

TEST(Planner, SamplesAddUpOnEveryRankCount) {
    for (int ranks = 1; ranks <= 12; ++ranks) {
        for (BucketPlan const& bucket : plan_of(request(ranks)).chosen.buckets) {
            EXPECT_EQ(bucket.micro_batch_size * bucket.grad_accum_steps * ranks,
                      bucket.global_batch_size)
                << ranks;
        }
    }
}

// Against equal_cost_batches() of buckets/cost.hpp, written apart from the planner.
TEST(Planner, BatchesCostTheSameWithinTheirUnit) {
    PlanRequest r = request(2);
    r.config.batch.global_batch_size = 64;
    std::vector<BucketKey> const keys{{48, 48, 4}, {32, 32, 8}, {32, 32, 1}};
    auto const expected =
        equal_cost_batches(keys, dit_sizes(model_shape("stdit3-tiny").value()),
                           {.global_batch_size = 64, .multiple = 4, .dp_size = 2});
    ASSERT_TRUE(expected.has_value());
    EXPECT_EQ(globals_of(r), std::vector<int>(expected->begin(), expected->end()));
}

TEST(Planner, IsDeterministic) {
    PlanDecision const a = plan_of(request(2)), b = plan_of(request(2));
    EXPECT_EQ(a.reasons, b.reasons);
    EXPECT_EQ(a.predicted.step_time_s, b.predicted.step_time_s);
}

TEST(Planner, AutoIsTheSameAsItsOwnChoiceWritten) {
    for (int ranks : {1, 2, 4}) {
        PlanRequest r = request(ranks);
        PlanDecision const decided = plan_of(r);
        LayoutPlan const& chosen = decided.chosen;
        r.config.data.num_workers = chosen.num_workers;
        r.config.data.prefetch_factor = chosen.prefetch_factor;
        r.config.parallel.grad_bucket_mib = chosen.grad_bucket_mib;
        r.config.parallel.tp_size = r.config.parallel.sp_size = 1;
        r.config.parallel.zero_stage = 0;
        r.config.memory.recompute = std::string("none");
        r.config.resources.cpus_per_worker = chosen.threads_per_rank;
        r.config.batch.global_batch_size = chosen.buckets[0].global_batch_size;
        PlanDecision const written = plan_of(r);
        EXPECT_DOUBLE_EQ(written.predicted.step_time_s, decided.predicted.step_time_s) << ranks;
        for (std::size_t i = 0; i < chosen.buckets.size(); ++i) {
            BucketPlan const &x = chosen.buckets[i], &y = written.chosen.buckets[i];
            EXPECT_EQ(x.micro_batch_size, y.micro_batch_size);
            EXPECT_EQ(x.global_batch_size, y.global_batch_size);
        }
    }
}

// Every combination of threads, gradient bucket and micro-batches, priced with step_time() alone:
// none is more than the stated 2 % faster than the plan.
TEST(Planner, BruteForceFindsNothingFaster) {
    for (int ranks : {1, 2, 4}) {
        for (int cores : {2, 8}) {
            PlanRequest r = request(ranks);
            r.cluster.nodes[0].cores = cores;
            r.config.data.num_workers = 1;
            r.calibration.decode_ms_per_megapixel = 1e-9;
            LayoutPlan const chosen = plan_of(r).chosen;
            auto const context = plan_context(r);
            double planned = 0, best = 0;
            for (std::size_t i = 0; i < chosen.buckets.size(); ++i) {
                int const local = chosen.buckets[i].global_batch_size / ranks;
                double fastest = 1e300;
                for (int threads = 1; threads * ranks <= std::max(cores, ranks); ++threads)
                    for (int mib : {1, 2, 4, 8, 16, 25, 50, 100})
                        for (int micro = 1; micro <= local; ++micro) {
                            if (local % micro != 0) continue;
                            StepQuery q = step_query(*context, i, threads);
                            q.grad_bucket_mib = mib;
                            q.micro_batch_size = micro;
                            q.grad_accum_steps = local / micro;
                            fastest = std::min(fastest, step_time(q, r.calibration).total_s());
                        }
                planned += chosen.buckets[i].step_time_s;
                best += fastest;
            }
            EXPECT_LE(planned, 1.02 * best) << ranks << " ranks, " << cores << " cores";
            EXPECT_GE(planned, best * (1 - 1e-9));
        }
    }
}

TEST(Planner, GradientBucketsAreTheFastestOfAll) {
    for (AllReduceFit const& fit :
         {AllReduceFit{2, 50e-6, 100e-9}, AllReduceFit{2, 0.02, 1e-9}, AllReduceFit{2, 0, 1e-9}}) {
        PlanRequest r = request(2);
        r.calibration.all_reduce = fit;
        r.config.batch.global_batch_size = 8;
        double const chosen = plan_of(r).predicted.step_time_s;
        double best = 1e300;
        for (int mib : {1, 2, 4, 8, 16, 25, 50, 100}) {
            r.config.parallel.grad_bucket_mib = mib;
            best = std::min(best, plan_of(r).predicted.step_time_s);
        }
        EXPECT_DOUBLE_EQ(chosen, best) << fit.a_s;
    }
}

TEST(Planner, MoreMemoryIsNeverWorse) {
    double last = 1e300;
    int plans = 0;
    for (std::int64_t mib = 100; mib <= 2048; mib += 50) {
        PlanRequest r = request(2);
        r.config.batch.global_batch_size = 256;
        r.cluster.nodes[0].memory_bytes = mib * kMiB;
        auto const decision = make_plan(r);
        if (!decision) {
            EXPECT_EQ(decision.error().code, Errc::out_of_memory);
            EXPECT_EQ(plans, 0) << "fitted with less memory";
            continue;
        }
        ++plans;
        EXPECT_LE(decision->predicted.step_time_s, last * (1 + 1e-9)) << mib;
        EXPECT_LE(decision->predicted.host_memory_gib * 1024, static_cast<double>(mib));
        last = decision->predicted.step_time_s;
    }
    EXPECT_GT(plans, 10);
}

TEST(Planner, MoreCoresAreNeverSlower) {
    for (int ranks : {1, 2, 4}) {
        double last = 1e300;
        for (int cores = 1; cores <= 16; ++cores) {
            PlanRequest r = request(ranks);
            r.cluster.nodes[0].cores = cores;
            double const now = plan_of(r).predicted.step_time_s;
            EXPECT_LE(now, last * 1.021) << ranks << ' ' << cores;
            last = now;
        }
    }
}

TEST(Planner, WhatDoesNotFitNamesTheBucketAndTheAmount) {
    PlanRequest r = request(1);
    r.cluster.nodes[0].memory_bytes = 130 * kMiB;
    Error const error = error_of(r);
    EXPECT_EQ(error.code, Errc::out_of_memory);
    EXPECT_THAT(error.message, HasSubstr("bucket 48 x 4: micro-batch 1 needs "));
    EXPECT_THAT(error.message, HasSubstr("MiB"));
}

TEST(Planner, LargerMicroBatchesThatDoNotFitAreRejectedWithTheReason) {
    PlanRequest r = request(1);
    r.config.batch.global_batch_size = 512;
    r.calibration.launch_floor_us = 10;  // large micro-batches pay
    r.cluster.nodes[0].memory_bytes = 700 * kMiB;
    PlanDecision const decision = plan_of(r);
    ASSERT_FALSE(decision.rejected.empty());
    Rejection const& first = decision.rejected.front();
    EXPECT_THAT(first.reason, HasSubstr("bucket 48 x 4: micro-batch "));
    EXPECT_GT(first.layout.buckets[0].micro_batch_size,
              decision.chosen.buckets[0].micro_batch_size);
}

// The lowest stage that fits: a GPU of 24 GB has no room for XL/2's optimizer, eight of them have.
TEST(Planner, RanksShareWhatDoesNotFit) {
    PlanRequest r = request(8);
    r.config.model.arch = "stdit3-xl/2";
    r.config.data.latents = "cache";
    r.config.optim.precision = "bf16";
    r.config.bucket = {{"144p", 1, 1.0, {}}};
    r.config.batch.global_batch_size = 8;
    r.cluster.nodes[0].memory_bytes = std::int64_t{512} << 30;
    r.config.memory.recompute.value = "none";
    r.config.parallel.tp_size = r.config.parallel.sp_size = 1;
    int before = 0;
    for (double const gib : {80.0, 16.0, 10.0, 6.0}) {
        r.config.memory.rank_memory_gib.value = gib;
        auto const decision = make_plan(r);
        if (decision.has_error()) {
            EXPECT_LT(gib, 8);
            EXPECT_EQ(decision.error().code, Errc::out_of_memory);
            continue;
        }
        EXPECT_GE(decision->chosen.zero_stage, before) << gib;
        before = decision->chosen.zero_stage;
        EXPECT_EQ(before == 0, gib == 80) << gib;
        EXPECT_LE(decision->predicted.peak_memory_gib, gib);
        std::string const said = before == 0 ? "ZeRO-0: the optimizer" : "a rank's memory is too";
        EXPECT_THAT(decision->reasons, Contains(HasSubstr(said)));
        // One less does not fit.
        if (before == 0) continue;
        PlanRequest less = r;
        less.config.parallel.zero_stage.value = before - 1;
        EXPECT_EQ(error_of(less).code, Errc::out_of_memory);
    }
    EXPECT_GT(before, 0);
    r.config.memory.rank_memory_gib.value = 80;
    r.zero_stage_min = 2;
    EXPECT_EQ(plan_of(r).chosen.zero_stage, 2);
    r.config.parallel.zero_stage.value = 1;
    EXPECT_EQ(plan_of(r).chosen.zero_stage, 1);
    EXPECT_THAT(plan_of(r).reasons, Contains("ZeRO-1: set by you"));
}

// A cap counts what the worker's allocator counts: exactly the predicted peak fits.
TEST(Planner, ACapOfARankIsOfItsTensors) {
    PlanRequest r = request(1);
    r.config.memory.recompute.value = "none";
    r.config.batch.global_batch_size = 8;
    for (auto& bucket : r.config.bucket) bucket.micro_batch_size = 8;
    double const peak = plan_of(r).predicted.peak_memory_gib;
    r.config.memory.rank_memory_gib.value = 1.0001 * peak;
    EXPECT_DOUBLE_EQ(plan_of(r).predicted.peak_memory_gib, peak);
    r.config.memory.rank_memory_gib.value = 0.9999 * peak;
    EXPECT_EQ(error_of(r).code, Errc::out_of_memory);
}

TEST(Planner, UsersNumbersWinOrAreErrors) {
    PlanRequest r = request(2);
    r.config.batch.global_batch_size = 24;
    r.config.bucket[0].micro_batch_size = 3;
    r.config.data.num_workers = 5;
    PlanDecision const decision = plan_of(r);
    EXPECT_EQ(decision.chosen.buckets[0].global_batch_size, 24);
    EXPECT_EQ(decision.chosen.buckets[0].micro_batch_size, 3);
    EXPECT_EQ(decision.chosen.buckets[0].grad_accum_steps, 4);
    EXPECT_EQ(decision.chosen.num_workers, 5);
    r.config.batch.global_batch_size = 25;
    EXPECT_EQ(error_of(r).code, Errc::not_divisible);
    EXPECT_EQ(error_of(r).message,
              "batch.global_batch_size: does not divide over 2 ranks x micro_batch_size 3; "
              "nearest valid: 24, 30");
}

TEST(Planner, GlobalBatchGrowsUntilCommunicationIsUnderItsTarget) {
    PlanRequest cheap = request(2);
    PlanRequest slow = cheap;
    slow.calibration.all_reduce = {.ranks = 2, .a_s = 0.01, .b_s_per_byte = 30e-9};
    int const small = globals_of(cheap)[0];
    int const large = globals_of(slow)[0];
    EXPECT_GT(large, small);
    EXPECT_EQ(small % 4, 0);
    slow.config.batch.exposed_comm_target = 0.05;
    EXPECT_GT(globals_of(slow)[0], large);
    slow.config.batch.max = 32;
    EXPECT_LE(globals_of(slow)[0], 32);
    EXPECT_THAT(plan_of(slow).reasons, Contains(HasSubstr("batch.max")));
}

TEST(Planner, ReasonsSayWhatAReaderMustKnow) {
    PlanDecision const decision = plan_of(request(4));
    EXPECT_THAT(decision.reasons, Contains(HasSubstr("ranks share cores, computing takes 2.0")));
    EXPECT_THAT(decision.reasons, Contains(HasSubstr("osora plan calibrate")));
    EXPECT_THAT(decision.reasons, Contains(HasSubstr("precision fp32")));
    EXPECT_EQ(decision.chosen.precision, "fp32");
    ASSERT_EQ(decision.rejected.size(), 2u);  // pp of 2 and of 4
    for (Rejection const& each : decision.rejected)
        EXPECT_THAT(each.reason, HasSubstr("parallel.pp_size = \"auto\" does"));
}

// bf16 is the default for GPUs; a value set by the user stays, and counts in the memory.
TEST(Planner, AWrittenPrecisionStays) {
    PlanRequest r = request(1);
    double const fp32 = plan_of(r).predicted.peak_memory_gib;
    for (char const* precision : {"bf16", "fp16"}) {
        r.config.optim.precision = precision;
        r.origins["optim.precision"] = {Layer::run, "r.toml", 9};
        PlanDecision const decision = plan_of(r);
        EXPECT_EQ(decision.chosen.precision, precision);
        EXPECT_LT(decision.predicted.peak_memory_gib, fp32);
        EXPECT_THAT(decision.reasons, Contains(HasSubstr("slower in it than in fp32")));
    }
}

TEST(Planner, LoaderThreadsFollowTheCostOfDecoding) {
    PlanRequest r = request(1);
    r.cluster.nodes[0].cores = 8;
    r.config.resources.cpus_per_worker = 1;
    r.calibration.decode_ms_per_megapixel = 1e-9;
    EXPECT_EQ(plan_of(r).chosen.num_workers, 0);
    int last = 0;
    for (double ms : {1.0, 20.0, 60.0, 400.0}) {
        r.calibration.decode_ms_per_megapixel = ms;
        int const workers = plan_of(r).chosen.num_workers;
        EXPECT_GE(workers, std::max(1, last)) << ms;
        last = workers;
    }
    EXPECT_GT(last, 1);
}

TEST(Planner, ClipStatisticsWeighTheBuckets) {
    PlanRequest r = request(1);
    r.clips = ClipStatistics{.buckets = {{10, 40, 56, 0}, {}, {90, 32, 32, 0}}};
    PlanDecision const decision = plan_of(r);
    EXPECT_EQ(decision.chosen.buckets[0].height, 40);
    EXPECT_EQ(decision.chosen.buckets[0].width, 56);
    EXPECT_THAT(decision.reasons, Contains(HasSubstr("32 x 8: no clip fits")));
    double const a =
        decision.chosen.buckets[0].step_time_s * 10 / decision.chosen.buckets[0].global_batch_size;
    double const b =
        decision.chosen.buckets[2].step_time_s * 90 / decision.chosen.buckets[2].global_batch_size;
    double const steps = 10.0 / decision.chosen.buckets[0].global_batch_size +
                         90.0 / decision.chosen.buckets[2].global_batch_size;
    EXPECT_NEAR(decision.predicted.step_time_s, (a + b) / steps, 1e-9);
    EXPECT_NEAR(decision.predicted.samples_per_s, 100 / (a + b), 1e-6);
    r.clips->buckets = {{}, {}, {}};
    EXPECT_EQ(error_of(r).code, Errc::not_found);
}

TEST(Planner, ExecProgramsAreNotPredicted) {
    PlanRequest r = request(2);
    r.config.run.job = "exec";
    r.config.bucket.clear();
    r.config.model.arch = "unknown";
    PlanDecision const decision = plan_of(r);
    EXPECT_EQ(decision.chosen.dp_size, 2);
    EXPECT_EQ(decision.chosen.threads_per_rank, 1);
    EXPECT_EQ(decision.predicted.step_time_s, 0);
}

TEST(Planner, NcclSettingsComeWithTheirOrigin) {
    PlanRequest r = request(1);
    r.config.nccl = {{"NCCL_IB_TC", "106"}, {"NCCL_DEBUG", "INFO"}};
    r.origins["nccl.NCCL_IB_TC"] = {Layer::run, "run.toml", 41};
    r.origins["nccl.NCCL_DEBUG"] = {Layer::command_line, "", 0};
    r.environment = {{"NCCL_DEBUG", "WARN"}, {"NCCL_ALGO", "Tree"}, {"PATH", "/bin"}};
    auto const env = plan_of(r).nccl_env;
    ASSERT_EQ(env.size(), 3u);
    EXPECT_EQ(env[0].name + "=" + env[0].value + " " + env[0].origin, "NCCL_ALGO=Tree environment");
    EXPECT_EQ(env[1].name + "=" + env[1].value + " " + env[1].origin, "NCCL_DEBUG=INFO --set");
    EXPECT_THAT(env[1].reason, HasSubstr("replaces WARN of the environment"));
    EXPECT_EQ(env[2].origin, "run file: run.toml:41");
    EXPECT_THAT(env[2].reason, HasSubstr("Gloo"));
}

}  // namespace
}  // namespace osora::plan
