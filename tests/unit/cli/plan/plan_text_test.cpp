#include "cli/plan/plan_text.hpp"

#include "cli/text/terminal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace osora::cli {
namespace {

using ::testing::HasSubstr;

plan::PlanDecision decision() {
    plan::PlanDecision d;
    d.chosen.dp_size = 128;
    d.chosen.zero_stage = 2;
    d.chosen.recompute = "full";
    d.chosen.precision = "bf16";
    d.chosen.num_workers = 2;
    d.chosen.threads_per_rank = 4;
    d.chosen.buckets = {{"360p", 51, 360, 640, 8, 1, 1024, 94.5e3, 7.31, 60.0},
                        {"360p", 102, 360, 640, 4, 1, 512, 189.0e3, 7.4, 61.4}};
    d.predicted = {.step_time_s = 7.31,
                   .step_time_error = 0.09,
                   .compute_s = 6.62,
                   .exposed_comm_s = 0.48,
                   .peak_memory_gib = 61.4,
                   .peak_bucket = "360p x 102",
                   .host_memory_gib = 41,
                   .samples_per_s = 140};
    d.reasons = {"dp only: the model fits one GPU; tp 2 would add 1.9 s of all_reduce a step"};
    d.nccl_env = {{"NCCL_IB_TC", "106", "run file: stage1.toml:41", "yours"}};
    return d;
}

PlanHeader header() {
    return {.run = "stdit3-stage1-0042",
            .job = "train",
            .arch = "stdit3-xl/2",
            .machine = "slurm gpu: 16 nodes x 8 H100-80G = 128 ranks",
            .gpu = true,
            .gpu_memory_gib = 80,
            .host_memory_gib = 64};
}

void expect_columns(std::string const& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(display_width(line), 80) << line;
        EXPECT_FALSE(line.ends_with(' ')) << line;
    }
    EXPECT_TRUE(text.ends_with('\n'));
}

// The sketch of SCREENS, "osora submit", in this version's words.
TEST(PlanText, IsTheSketchedScreen) {
    EXPECT_EQ(render_plan(decision(), header()),
              "run stdit3-stage1-0042 · train stdit3-xl/2 · slurm gpu: 16 nodes x 8 H100-80G =\n"
              "128 ranks\n"
              "\n"
              "plan     tp 1 · sp 1 · pp 1 · dp 128 · ZeRO-2 · recompute full · bf16\n"
              "         360p x 51: micro-batch 8 · accumulate 1 · global batch 1,024\n"
              "         360p x 102: micro-batch 4 · accumulate 1 · global batch 512\n"
              "         128 ranks x 4 threads · loader 2 threads, prefetch 2\n"
              "expect   7.31 s/step ± 9 % (compute 6.62, exposed comm 0.48, loader 0.00)\n"
              "         peak 61.4 of 80 GiB (360p x 102) · 140 samples/s\n"
              "         host 41.0 of 64 GiB a node\n"
              "why      dp only: the model fits one GPU; tp 2 would add 1.9 s of all_reduce a\n"
              "         step\n"
              "nccl     NCCL_IB_TC=106 (run file: stage1.toml:41)\n");
}

TEST(PlanText, OtherBatchesAreExplained) {
    plan::PlanDecision d = decision();
    EXPECT_THAT(render_explanation(d, 3), testing::Not(HasSubstr("batches")));
    d.batch_curve = {{512, 0.131, 3.81, 134}, {1024, 0.0657, 7.31, 140}};
    EXPECT_THAT(
        render_explanation(d, 3),
        HasSubstr("\nbatches  512: 13.1 % exposed · 134 samples/s · 3.81 s a step\n"
                  "         1,024: 6.6 % exposed · 140 samples/s · 7.31 s a step · planned\n"
                  "         without loaders; for a batch k times as large, Adam's learning rate "
                  "is\n"));
    expect_columns(render_explanation(d, 3));
    d.predicted.rank_wait_s = 2.5;
    EXPECT_THAT(render_plan(d, header()), HasSubstr("loader 0.00,\n         slowest rank 2.50)"));
}

TEST(PlanText, RanksThatShareANetworkAreNamed) {
    plan::PlanDecision d = decision();
    d.chosen.tp_size = 8;
    d.chosen.pp_size = 2;
    d.chosen.dp_size = 8;
    d.rank_groups = plan::rank_map(d.chosen, 8);
    EXPECT_THAT(render_plan(d, header()),
                HasSubstr("\ngroups   tp 8: 0 1 2 ... 7 | 8 9 10 ... 15 | 14 more · inside a node\n"
                          "         dp 8: 0 8 16 ... 56 | 1 9 17 ... 57 | 14 more\n"
                          "         over 8 nodes, 8 share a node's links\n"
                          "         pp 2: 0 64 | 1 65 | 62 more · over 2 nodes, 8 share a node's "
                          "links\n"));
    expect_columns(render_plan(d, header()));
    d.chosen.tp_size = d.chosen.pp_size = 1;
    d.rank_groups = plan::rank_map(d.chosen, 8);
    EXPECT_EQ(render_plan(d, header()).find("groups"), std::string::npos);
}

TEST(PlanText, ShortStepsAreInMilliseconds) {
    plan::PlanDecision d = decision();
    d.predicted.step_time_s = 0.0852;
    d.predicted.compute_s = 0.08;
    d.predicted.exposed_comm_s = 0.0052;
    EXPECT_THAT(render_plan(d, header()),
                HasSubstr("85.2 ms/step ± 9 % (compute 80.0, exposed comm 5.20, loader 0.00)"));
}

TEST(PlanText, CpuRanksShareTheNodesMemory) {
    PlanHeader h = header();
    h.gpu = false;
    h.gpu_memory_gib = 0;
    std::string const text = render_plan(decision(), h);
    EXPECT_THAT(text, HasSubstr("peak 61.4 GiB a rank (360p x 102)"));
    EXPECT_THAT(text, HasSubstr("Gloo"));
}

TEST(PlanText, ManySettingsAreCounted) {
    plan::PlanDecision d = decision();
    for (char c = 'A'; c < 'H'; ++c) d.nccl_env.push_back({std::string("NCCL_") + c, "1", "x", ""});
    EXPECT_THAT(render_plan(d, header()), HasSubstr("5 more: osora nccl env"));
}

TEST(PlanText, NothingIsWiderThanTheTerminalOrBreaksIt) {
    plan::PlanDecision d = decision();
    d.nccl_env.push_back({"NCCL_X", "a\x1b[31m\nb", "run file: r.toml:1", "yours"});
    d.reasons.push_back(std::string("a long reason ") +
                        "that goes on and on and on and on and on "
                        "until nobody reads it any more");
    d.rejected = {{{}, "tp_size 64 does not divide 16 heads"}};
    d.rejected[0].layout.tp_size = 64;
    d.alternatives = {{d.chosen, d.predicted}};
    d.alternatives[0].predicted.step_time_s = 14.62;
    d.alternatives[0].predicted.samples_per_s /= 2;
    expect_columns(render_plan(d, header()));
    std::string const explained = render_explanation(d, 3);
    expect_columns(explained);
    EXPECT_THAT(explained, HasSubstr("(+100 % a sample)"));
    EXPECT_THAT(explained, HasSubstr("rejected tp 64 · sp 1 · pp 1 · dp 1: tp_size 64 does not"));
    EXPECT_EQ(render_plan(d, header()).find('\x1b'), std::string::npos);
    EXPECT_EQ(render_explanation(d, 0).find("others"), std::string::npos);
}

TEST(PlanText, AProgramOfTheUserHasNoPrediction) {
    plan::PlanDecision d;
    d.chosen.dp_size = 2;
    PlanHeader const h{
        .run = "x", .job = "exec", .arch = "", .machine = "local: 2 CPU ranks on 2 cores"};
    EXPECT_EQ(render_plan(d, h),
              "run x · exec · local: 2 CPU ranks on 2 cores\n\n"
              "plan     2 ranks x 1 thread\n"
              "nccl     not used: CPU ranks meet over Gloo\n");
}

}  // namespace
}  // namespace osora::cli
