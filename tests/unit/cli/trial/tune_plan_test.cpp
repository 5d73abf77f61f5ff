#include "cli/trial/tune_plan.hpp"
#include "cli/plan/tune_memory.hpp"
#include "cli/trial/tune_trials.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>

namespace osora::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(TunePlan, ownCandidatesStandAroundThePlan) {
    plan::RunConfig config;
    plan::PlanDecision decision;
    decision.chosen.grad_bucket_mib = 25;
    EXPECT_THAT(own_candidates(config, decision), IsEmpty()) << "one rank";
    config.resources.nodes = 2;
    auto const list = own_candidates(config, decision);
    ASSERT_THAT(list, SizeIs(2));
    EXPECT_THAT(list[0].values, ElementsAre("6", "100"));
    EXPECT_THAT(list[1].values, ElementsAre("false"));
    config.parallel.overlap = false;
    EXPECT_THAT(own_candidates(config, decision)[1].values, ElementsAre("true"));
    decision.chosen.grad_bucket_mib = 1;
    EXPECT_THAT(own_candidates(config, decision)[0].values, ElementsAre("4"));
}

TEST(TunePlan, settingsOfNcclBecomeKeysOfTheRunFile) {
    auto const list = nccl_candidates(
        {{"NCCL_SOCKET_NTHREADS", {"2", "4"}, {{"NCCL_NSOCKS_PERTHREAD", "4"}}, "why", "when"}});
    ASSERT_THAT(list, SizeIs(1));
    EXPECT_EQ(list[0].key, "nccl.NCCL_SOCKET_NTHREADS");
    EXPECT_EQ(list[0].with.at("nccl.NCCL_NSOCKS_PERTHREAD"), "4");
}

TEST(TunePlan, readsWhatIsNamed) {
    auto const named = named_candidate("worker.env.GLOO_SOCKET_IFNAME=eth0,eth1");
    ASSERT_TRUE(named.has_value());
    EXPECT_EQ(named->key, "worker.env.GLOO_SOCKET_IFNAME");
    EXPECT_THAT(named->values, ElementsAre("eth0", "eth1"));
    for (auto const* bad : {"", "a.b", "a.b=", "a.b=,1", "a.b=1,", "bucket=1", "=1"}) {
        auto const wrong = named_candidate(bad);
        ASSERT_TRUE(wrong.has_error()) << bad;
        EXPECT_THAT(wrong.error().message, HasSubstr("--try parallel.grad_bucket_mib=10,50"));
    }
}

TEST(TunePlan, whatWasKeptBecomesLinesOfARunFile) {
    EXPECT_EQ(run_file_lines({}), "");
    EXPECT_EQ(run_file_lines({{"parallel.grad_bucket_mib", "50"},
                              {"parallel.overlap", "false"},
                              {"nccl.NCCL_MIN_CTAS", "16"},
                              {"worker.env.GLOO_SOCKET_IFNAME", "eth1"}}),
              "[nccl]\nNCCL_MIN_CTAS = \"16\"\n"
              "[parallel]\ngrad_bucket_mib = 50\noverlap = false\n"
              "[worker.env]\nGLOO_SOCKET_IFNAME = \"eth1\"\n");
    // [bucket[0]] is no TOML, and another [[bucket]] would be one more.
    EXPECT_EQ(run_file_lines({{"bucket[0].micro_batch_size", "4"}, {"parallel.overlap", "false"}}),
              "[parallel]\noverlap = false\n# --set 'bucket[0].micro_batch_size=4'\n");
}

// 32 samples in 3 s are more a second than 16 in 2 s.
TEST(TunePlan, comparesStepsOfOtherBatchesByTheirSamples) {
    TrialEnd const as_it_is{.step_s = 2, .samples_per_step = 16};
    TrialEnd const larger{.step_s = 3, .samples_per_step = 32};
    EXPECT_DOUBLE_EQ(step_s_for(as_it_is, 16), 2);
    EXPECT_DOUBLE_EQ(step_s_for(larger, 16), 1.5);
    EXPECT_DOUBLE_EQ(step_s_for(larger, 0), 3) << "nothing to compare with";
    EXPECT_DOUBLE_EQ(step_s_for({.step_s = 3}, 16), 3);
    EXPECT_DOUBLE_EQ(step_s_for({.step_s = 3, .samples_per_step = NAN}, 16), 3);
}

TEST(TuneMemory, isOfOneShapeAndSaysWhatIsMissing) {
    auto const state =
        std::filesystem::temp_directory_path() / ("tuned-" + std::to_string(::getpid()));
    Context context;
    context.environment = {"OSORA_STATE_DIR=" + state.string()};
    plan::RunConfig config;
    config.resources.backend = "slurm";
    config.resources.nodes = 4;
    EXPECT_EQ(tuning_hint(context, config), "");
    auto const kept = remember_tuning(
        context, shape_of(config),
        {{"parallel.grad_bucket_mib", "50"}, {"worker.env.GLOO_SOCKET_IFNAME", "eth1"}});
    ASSERT_TRUE(kept.has_value());
    EXPECT_THAT(tuning_hint(context, config), HasSubstr("parallel.grad_bucket_mib=50, worker.env"));
    config.worker.env["GLOO_SOCKET_IFNAME"] = "eth1";
    config.parallel.grad_bucket_mib = 50;
    EXPECT_EQ(tuning_hint(context, config), "");
    config.parallel.grad_bucket_mib = {};
    config.resources.nodes = 8;
    EXPECT_EQ(tuning_hint(context, config), "") << "another shape";
    std::filesystem::remove_all(state);
}

}  // namespace
}  // namespace osora::cli
