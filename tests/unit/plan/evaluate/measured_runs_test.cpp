// Runs measured on the same cluster correct the answer; GPUs whose NVLink joins several nodes.
#include "tests/unit/plan/evaluate/rows_kit.hpp"

#include "plan/evaluate/measured_runs.hpp"

#include <cmath>

namespace osora::plan {
namespace {

using testing::HasSubstr;

EvaluateRow row_on(std::int64_t nodes) {
    EvaluateRow row = gpt_row(48, 8192, 64, nodes);
    row.layout.tp_size = 8;
    row.layout.dp_size = nodes;
    row.layout.micro_batch_size = 2;
    row.layout.grad_accum_steps = 8;
    return row;
}

/// `row` as it was measured, `times` as slow as predicted.
MeasuredRun measured(EvaluateRow const& row, double times) {
    return {.row = row, .step_time_s = times * predict(row).step_time_s(), .peak_memory_gib = {}};
}

double ratio_of(EvaluateRow row, std::vector<MeasuredRun> runs) {
    double const before = evaluate(row).step_time_s();
    row.measured = std::move(runs);
    return evaluate(row).step_time_s() / before;
}

TEST(MeasuredRuns, TheVeryRunIsItsOwnAnswer) {
    EvaluateRow const row = row_on(4);
    for (double const times : {0.7, 0.95, 1.02, 1.6}) {
        EXPECT_NEAR(ratio_of(row, {measured(row, times)}), times, 0.005) << times;
    }
}

/// 7 billion parameters on 2 nodes: gradients take 0.2 s at 200 Gbit/s and 16 s at 2 Gbit/s, the
/// rest takes 0.6 s.
EvaluateRow row_at(double nic_gbit, std::int64_t nodes = 2) {
    EvaluateRow row = gpt_row(32, 4096, 32, nodes);
    row.nic_gbit_per_gpu = nic_gbit;
    row.layout.dp_size = 8 * nodes;
    row.layout.recompute = "none";
    return row;
}

TEST(MeasuredRuns, TheVeryRunIsItsOwnAnswerHoweverMuchItCommunicates) {
    for (double const nic_gbit : {400., 100., 60., 55., 52., 40., 25., 10., 2.}) {
        EvaluateRow const row = row_at(nic_gbit);
        for (double const times : {0.12, 0.3, 0.5, 0.8, 1.3, 2.0, 5.0}) {
            EXPECT_NEAR(ratio_of(row, {measured(row, times)}), times, 0.01 * times)
                << nic_gbit << " Gbit/s";
        }
    }
}

TEST(MeasuredRuns, ManyOthersDoNotChangeTheAnswerToTheVeryRun) {
    EvaluateRow const row = row_at(55), slow = row_at(55, 16);
    std::vector<MeasuredRun> runs(20, measured(slow, 4));
    runs.push_back(measured(row, 0.9));
    EXPECT_NEAR(ratio_of(row, runs), 0.9, 0.009);
}

TEST(MeasuredRuns, TheCorrectionHasNoJumpWhereCommunicationBecomesTheLargerPart) {
    for (double const times : {0.4, 2.0}) {
        double before = 0;
        for (double nic_gbit = 400; nic_gbit > 2; nic_gbit *= 0.98) {
            double const ratio = ratio_of(row_at(nic_gbit, 4), {measured(row_at(nic_gbit), times)});
            EXPECT_NEAR(before > 0 ? ratio / before : 1, 1, 0.02) << nic_gbit << " Gbit/s";
            before = ratio;
        }
    }
}

MeasuredCorrection correction(EvaluateRow row, std::vector<MeasuredRun> runs) {
    row.measured = std::move(runs);
    return correction_of(row);
}

TEST(MeasuredRuns, ThePartThatDominatesIsCorrected) {
    EvaluateRow const busy = row_at(400), waiting = row_at(5);
    MeasuredCorrection const compute = correction(row_at(400, 4), {measured(busy, 1.5)});
    EXPECT_GT(compute.compute, 1.5);
    EXPECT_EQ(compute.comm, 1);
    MeasuredCorrection const comm = correction(row_at(5, 4), {measured(waiting, 1.5)});
    EXPECT_EQ(comm.compute, 1);
    EXPECT_GT(comm.comm, 1.5);
    EvaluateRow row = row_at(5, 4);
    row.measured = {measured(waiting, 1.5)};
    Evaluation const plain = predict(row), found = evaluate(row);
    EXPECT_EQ(found.parts.compute_s, plain.parts.compute_s);
    for (auto const part : {&StepParts::dp_comm_s, &StepParts::exposed_comm_s}) {
        EXPECT_NEAR(found.parts.*part, comm.comm * plain.parts.*part, 1e-9);
    }
}

TEST(MeasuredRuns, TwoThatCommunicateDifferentlyGiveBothFactors) {
    // More micro-batches a step: less communication.
    EvaluateRow much = row_at(25), little = much, row = much;
    little.layout.grad_accum_steps = 16;
    row.layout.grad_accum_steps = 4;
    auto const slowed = [](EvaluateRow const& each) {
        StepParts const parts = predict(each).parts;
        double const comm = parts.exposed_comm_s;
        return 1.2 * (parts.total_s() - comm) + 2 * comm;
    };
    auto const run = [&](EvaluateRow const& each) {
        return MeasuredRun{.row = each, .step_time_s = slowed(each), .peak_memory_gib = {}};
    };
    for (auto const& runs : {std::vector{run(much), run(little)}, {run(little), run(much)}}) {
        MeasuredCorrection const by = correction(row, runs);
        EXPECT_NEAR(by.compute, 1.2, 0.03);
        EXPECT_NEAR(by.comm, 2, 0.06);
        row.measured = runs;
        EXPECT_NEAR(evaluate(row).step_time_s() / slowed(row), 1, 0.02);
    }
}

TEST(MeasuredRuns, LinksOfANodeSayNothingAboutItsCards) {
    EvaluateRow inside = row_at(100, 1);
    inside.layout.tp_size = 8;
    inside.layout.dp_size = 1;
    inside.hardware.link_gbps = 10;
    EvaluateRow across = row_at(5);
    across.hardware = inside.hardware;
    EXPECT_EQ(correction(across, {measured(inside, 2)}).comm, 1);
    EvaluateRow shorter = inside;
    shorter.gpt->seq_len = 1024;
    EXPECT_GT(correction(inside, {measured(shorter, 2)}).comm, 1.9);
}

TEST(MeasuredRuns, ATimeOfAnotherWorldGivesANumber) {
    for (double const seconds : {1e-6, 1e9}) {
        for (double const nic_gbit : {400., 50., 2.}) {
            MeasuredRun run = measured(row_at(nic_gbit), 1), other = measured(row_at(2), 1);
            run.step_time_s = seconds;
            for (EvaluateRow row : {row_at(nic_gbit), row_at(nic_gbit, 4)}) {
                row.measured = {run, other};
                double const found = evaluate(row).step_time_s();
                EXPECT_TRUE(std::isfinite(found) && found > 0) << seconds << " " << nic_gbit;
            }
        }
    }
}

TEST(MeasuredRuns, AGreatDifferenceCountsNearlyWholeAndASmallOneInPart) {
    EvaluateRow const row = row_on(16), other = row_on(2);
    EXPECT_NEAR(ratio_of(row, {measured(other, 1.5)}), 1.5, 0.1);
    double const small = ratio_of(row, {measured(other, 1.02)});
    EXPECT_GT(small, 1);
    EXPECT_LT(small, 1.016);
}

TEST(MeasuredRuns, OneThatIsMoreAlikeCountsForMore) {
    EvaluateRow const row = row_on(4);
    EvaluateRow alike = row_on(8), unlike = gpt_row(24, 1024, 16, 4);
    unlike.layout.dp_size = 32;
    double const both = ratio_of(row, {measured(alike, 1.2), measured(unlike, 0.8)});
    EXPECT_GT(both, 1.1);
    EXPECT_NEAR(ratio_of(row, {measured(alike, 1.2), measured(alike, 1.2)}), 1.2, 0.05);
}

TEST(MeasuredRuns, MemoryIsCorrectedToo) {
    EvaluateRow row = row_on(4);
    double const before = evaluate(row).peak_memory_gib;
    MeasuredRun run = measured(row, 1);
    run.peak_memory_gib = 1.3 * before;
    row.measured = {run};
    EXPECT_NEAR(evaluate(row).peak_memory_gib, 1.3 * before, 0.01 * before);
    EXPECT_EQ(evaluate(row).fits, 1.3 * before <= row.hardware.memory_gib);
}

std::string line_with(std::string const& measured) {
    std::string line = line_of("1");
    std::string const at = R"("nic_gbit_per_gpu":100)";
    return line.replace(line.find(at), at.size(),
                        at + R"(,"calibration":{"measured":)" + measured + "}");
}

std::string run_text(std::string const& seconds, std::string const& tp = "2") {
    return R"({"model":{"kind":"gpt","layers":24,"hidden":1024,"heads":16,"seq_len":1024,)"
           R"("vocab":51200},"nodes":1,"gpus_per_node":8,"step_time_s":)" +
           seconds + R"(,"layout":{"tp_size":)" + tp +
           R"(,"pp_size":1,"sp_size":1,"dp_size":4,"zero_stage":0,"micro_batch_size":1,)"
           R"("grad_accum_steps":4,"recompute":"full","precision":"bf16"}})";
}

TEST(MeasuredRuns, AreReadFromTheLine) {
    auto const answer = answer_of(line_with("[" + run_text("2.5") + "]"));
    EXPECT_NEAR(answer.at("step_time_s").to_number<double>(), 2.5, 0.02);
    EXPECT_EQ(answer.at("calibration").at("runs").to_number<int>(), 1);
    EXPECT_FALSE(answer_of(line_of("1")).contains("calibration"));
}

TEST(MeasuredRuns, WhatIsNoRunIsNamed) {
    EXPECT_THAT(error_of(line_with("3")), HasSubstr("measured: must be a list"));
    EXPECT_THAT(error_of(line_with("[3]")), HasSubstr("measured[0]: must be an object"));
    EXPECT_THAT(error_of(line_with("[" + run_text("0") + "]")),
                HasSubstr("cluster.calibration.measured[0].step_time_s: 0 is below"));
    EXPECT_THAT(error_of(line_with("[" + run_text("1") + ",{}]")), HasSubstr("measured[1].model"));
    auto const answer = answer_of(line_with("[" + run_text("2.5", "3") + "]"));
    auto const& left_out = answer.at("calibration").at("left_out").as_array();
    ASSERT_EQ(left_out.size(), 1u);
    EXPECT_THAT(std::string(left_out[0].as_string()), HasSubstr("measured[0]"));
}

TEST(Gpus, OneNvlinkDomainMayJoinNodes) {
    EvaluateRow row = row_on(18);
    row.gpus_per_node = 4;
    row.hardware = hardware().find("gb200-186g-nvl72").value();
    EXPECT_EQ(row.linked_gpus(), 72);
    row.nodes = 128;  // 512 GPUs in 8 domains
    EXPECT_EQ(row.linked_gpus(), 64);
    row.nodes = 1;
    EXPECT_EQ(row.linked_gpus(), 4);
    row.hardware = hardware().find("h100").value();
    row.nodes = 18;
    EXPECT_EQ(row.linked_gpus(), 4);
}

TEST(Gpus, TheContractsNamesAndThoseThatPeopleWriteAreKnown) {
    for (char const* name : {"v100-32g-sxm",
                             "a100-40g-sxm",
                             "a100-80g-sxm",
                             "a100-80g-pcie",
                             "a800-80g-sxm",
                             "rtx3090",
                             "rtx4090",
                             "l40s",
                             "h100-80g-sxm",
                             "h100-96g",
                             "h800-80g-sxm",
                             "h20",
                             "h200-141g-sxm",
                             "b200-180g-sxm",
                             "b300-270g-sxm",
                             "gb200-186g-nvl72",
                             "gb300-279g-nvl72",
                             "cpu",
                             "a100",
                             "h100",
                             "b200",
                             "gb300"}) {
        EXPECT_TRUE(hardware().find(name).has_value()) << name;
    }
}

/// MLPerf Training v5.1, closed division, FLUX.1-schnell on 16 GPUs and Llama 3.1 8B in FP8 on 8
/// (mlcommons/training_results_v5.1).
TEST(PublishedRuns, OfMlperfOnBlackwell) {
    struct Run {
        char const* gpu;
        int nodes, gpus_per_node, micro_batch;
        double seconds;
    };
    for (Run const& run :
         {Run{"b200-180g-sxm", 2, 8, 32, 0.62765}, Run{"gb200-186g-nvl72", 4, 4, 32, 0.56751},
          Run{"gb300-279g-nvl72", 4, 4, 64, 0.91876}}) {
        EvaluateRow row;
        auto shape = model_shape("mmdit-11b").value();
        shape.text_tokens = 256;
        row.arch = ArchModel{shape, bucket_of("256px", 1, shape.pixel_multiple()).value(), false};
        row.hardware = hardware().find(run.gpu).value();
        row.nodes = run.nodes;
        row.gpus_per_node = run.gpus_per_node;
        row.nic_gbit_per_gpu = 400;
        row.layout.dp_size = 16;
        row.layout.zero_stage = 1;
        row.layout.micro_batch_size = run.micro_batch;
        row.layout.precision = "fp8";
        EXPECT_NEAR(evaluate(row).step_time_s() / run.seconds, 1, 0.05) << run.gpu;
    }
}

}  // namespace
}  // namespace osora::plan
