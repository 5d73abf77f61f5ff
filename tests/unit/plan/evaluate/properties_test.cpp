// More of anything never makes a step slower or a GPU too small.
#include "tests/unit/plan/evaluate/rows_kit.hpp"

#include <random>

namespace osora::plan {
namespace {

std::vector<EvaluateRow> legal_rows(int count) {
    std::mt19937 random(9);
    auto const power = [&](int max) { return std::int64_t{1} << (random() % (max + 1)); };
    std::vector<EvaluateRow> rows;
    while (static_cast<int>(rows.size()) < count) {
        EvaluateRow row = gpt_row(8 * power(3), 1024 * power(3), 16, power(5));
        RowLayout& layout = row.layout;
        layout.tp_size = power(3);
        layout.pp_size = power(3);
        layout.sp_size = random() % 3 == 0 ? 2 : 1;
        layout.dp_size = std::max<std::int64_t>(
            1, row.world_size() / layout.tp_size / layout.pp_size / layout.sp_size);
        layout.zero_stage = static_cast<int>(random() % 4);
        layout.micro_batch_size = power(4);
        layout.grad_accum_steps = power(6);
        layout.virtual_stages = power(1);
        layout.recompute = std::array{"none", "selective", "full", "4"}[random() % 4];
        layout.sequence_parallel = random() % 2 == 0;
        if (row_violations(row).empty()) rows.push_back(std::move(row));
    }
    return rows;
}

TEST(EvaluateProperties, FasterPartsMakeNoStepSlower) {
    for (EvaluateRow const& row : legal_rows(2000)) {
        double const before = evaluate(row).step_time_s();
        for (auto const member :
             {&Hardware::bf16_tflops, &Hardware::memory_gbps, &Hardware::link_gbps}) {
            EvaluateRow faster = row;
            faster.hardware.*member *= 1.5;
            ASSERT_LE(evaluate(faster).step_time_s(), before * (1 + 1e-12));
        }
        EvaluateRow faster = row;
        faster.nic_gbit_per_gpu *= 1.5;
        ASSERT_LE(evaluate(faster).step_time_s(), before * (1 + 1e-12));
        faster = row;
        faster.constants.launch_us /= 1.5;
        ASSERT_LE(evaluate(faster).step_time_s(), before * (1 + 1e-12));
    }
}

TEST(EvaluateProperties, MemoryDecidesWhatFits) {
    for (EvaluateRow row : legal_rows(500)) {
        double const peak = evaluate(row).peak_memory_gib;
        double const needed = row.constants.memory_context_gib + row.constants.memory_margin * peak;
        row.hardware.memory_gib = needed * 1.001;
        ASSERT_TRUE(evaluate(row).fits);
        row.hardware.memory_gib = needed * 0.999;
        ASSERT_FALSE(evaluate(row).fits);
        row.layout.micro_batch_size *= 2;
        ASSERT_GE(evaluate(row).peak_memory_gib, peak);
    }
}

TEST(EvaluateProperties, MoreWorkTakesLonger) {
    for (EvaluateRow const& row : legal_rows(500)) {
        double const before = evaluate(row).step_time_s();
        EvaluateRow more = row;
        more.layout.grad_accum_steps *= 2;
        ASSERT_GT(evaluate(more).step_time_s(), before);
        more = row;
        more.gpt->layers *= 2;
        ASSERT_GT(evaluate(more).step_time_s(), before);
    }
}

TEST(EvaluateProperties, OneStageHasNoBubble) {
    for (EvaluateRow const& row : legal_rows(2000)) {
        double const bubble_s = evaluate(row).parts.bubble_s;
        if (row.layout.pp_size == 1) {
            ASSERT_EQ(bubble_s, 0);
        } else {
            ASSERT_GT(bubble_s, 0);
        }
    }
}

// A pipeline without communication idles for (p - 1)/m of its work, interleaved for 1/v of it
// (arXiv 2104.04473, 2.2).
TEST(EvaluateProperties, BubblesFollowTheSchedule) {
    EvaluateRow row = gpt_row(64, 4096, 32, 1);
    row.gpus_per_node = 8;
    row.layout.pp_size = 8;
    row.layout.grad_accum_steps = 16;
    row.gpt->vocab = 1;
    row.constants.element_bytes_whole = 0;
    row.constants.stage_latency_us = 0;
    row.hardware.link_gbps = 1e6;
    for (std::int64_t const virtual_stages : {1, 2, 4}) {
        row.layout.virtual_stages = virtual_stages;
        StepParts const parts = evaluate(row).parts;
        EXPECT_NEAR(parts.bubble_s / (parts.compute_s + parts.launch_s),
                    7.0 / 16 / static_cast<double>(virtual_stages), 2e-3);
    }
}

}  // namespace
}  // namespace osora::plan
