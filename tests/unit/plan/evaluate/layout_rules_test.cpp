// What the rules accept can be cut: checked by dividing, on random layouts.
#include "tests/unit/plan/evaluate/rows_kit.hpp"

#include <random>

namespace osora::plan {
namespace {

EvaluateRow random_row(std::mt19937& random) {
    auto const one_of = [&](std::initializer_list<std::int64_t> values) {
        return *(values.begin() + random() % values.size());
    };
    EvaluateRow row =
        gpt_row(one_of({6, 12, 24, 30, 62}), one_of({768, 1024, 1536}), one_of({8, 12, 16}), 1);
    row.gpt->kv_heads = one_of({2, 4, row.gpt->heads});
    row.gpt->seq_len = one_of({1000, 1024, 2048});
    RowLayout& layout = row.layout;
    layout.tp_size = one_of({1, 2, 3, 4, 8});
    layout.pp_size = one_of({1, 2, 3, 4});
    layout.sp_size = one_of({1, 1, 2, 4});
    layout.dp_size = one_of({1, 2, 4, 8});
    layout.zero_stage = static_cast<int>(random() % 4);
    layout.grad_accum_steps = one_of({1, 2, 4, 6, 8});
    layout.virtual_stages = one_of({1, 1, 2, 3});
    layout.sequence_parallel = random() % 2 == 0;
    row.gpus_per_node = one_of({4, 8});
    return row;
}

TEST(RowRules, WhatIsAcceptedDivides) {
    std::mt19937 random(5);
    int accepted = 0;
    for (int round = 0; round < 40'000; ++round) {
        EvaluateRow const row = random_row(random);
        if (!row_violations(row).empty()) continue;
        ++accepted;
        auto const& [tp, pp, sp, dp] = std::tuple{row.layout.tp_size, row.layout.pp_size,
                                                  row.layout.sp_size, row.layout.dp_size};
        std::int64_t const stages = pp * row.layout.virtual_stages;
        ASSERT_EQ(tp * pp * sp * dp, row.world_size());
        ASSERT_EQ(row.gpt->hidden % row.gpt->heads, 0);
        ASSERT_EQ(row.gpt->heads % tp, 0);
        ASSERT_EQ(row.gpt->heads / tp % sp, 0);
        ASSERT_EQ(row.gpt->seq_len % sp, 0);
        ASSERT_TRUE(row.gpt->layers % stages == 0 || (row.gpt->layers + 2) % stages == 0);
        ASSERT_TRUE(row.layout.virtual_stages == 1 || row.layout.grad_accum_steps % pp == 0);
        ASSERT_TRUE(!row.layout.sequence_parallel || row.gpt->seq_len / sp % tp == 0);
        ASSERT_TRUE(row.layout.zero_stage < 3 || pp == 1);
        Evaluation const found = evaluate(row);
        ASSERT_TRUE(std::isfinite(found.step_time_s()) && found.step_time_s() > 0);
        ASSERT_TRUE(std::isfinite(found.peak_memory_gib) && found.peak_memory_gib > 0);
    }
    EXPECT_GT(accepted, 100);
}

TEST(RowRules, EachIsNamed) {
    auto const first = [](EvaluateRow const& row) {
        auto const broken = row_violations(row);
        return broken.empty() ? std::string() : broken.front().key;
    };
    EvaluateRow row = gpt_row(24, 1024, 16, 1);
    row.layout.dp_size = 8;
    EXPECT_EQ(first(row), "");
    auto changed = row;
    changed.gpt->heads = changed.gpt->kv_heads = 15;
    EXPECT_EQ(first(changed), "model.heads");
    changed = row;
    changed.gpt->kv_heads = 3;
    EXPECT_EQ(first(changed), "model.kv_heads");
    changed = row;
    changed.layout.virtual_stages = 2;
    EXPECT_EQ(first(changed), "layout.virtual_stages");
    changed = row;
    changed.layout.sequence_parallel = true;
    EXPECT_EQ(first(changed), "layout.sequence_parallel");
    changed = row;
    changed.layout.precision = "fp8";
    EXPECT_EQ(first(changed), "layout.precision");
    changed = row;
    changed.layout.recompute = "25";
    EXPECT_EQ(first(changed), "layout.recompute");
    changed = row;
    changed.layout.activation_store = "offload";
    EXPECT_EQ(first(changed), "layout.activation_store");
    changed = row;
    changed.layout.pp_size = 8;
    changed.layout.dp_size = 1;
    changed.layout.zero_stage = 3;
    EXPECT_EQ(first(changed), "layout.zero_stage");
}

// Llama 3 counts embedding and logits as two layers (arXiv 2407.21783, 3.3.2).
TEST(RowRules, EmbeddingAndLogitsMayCountAsLayers) {
    EvaluateRow row = gpt_row(126, 16384, 128, 16);
    row.layout.tp_size = 8;
    row.layout.pp_size = 16;
    row.layout.grad_accum_steps = 16;
    row.layout.virtual_stages = 8;
    EXPECT_TRUE(row_violations(row).empty());
    row.gpt->layers = 125;
    EXPECT_FALSE(row_violations(row).empty());
}

}  // namespace
}  // namespace osora::plan
