// Parameters against published counts, bytes of activations against the published formulas.
#include "plan/evaluate/work_time.hpp"
#include "plan/model/trained_parameters.hpp"
#include "tests/unit/plan/evaluate/rows_kit.hpp"

namespace osora::plan {
namespace {

double parameters(EvaluateRow const& row) {
    ModelWork const work = gpt_work(row);
    return (work.blocks * work.block_parameters + work.outer_parameters) / 1e9;
}

// arXiv 2104.04473, table 1, which counts embeddings of 2048 positions too: layers, hidden, heads,
// billions of parameters.
TEST(EvaluateMemory, GptsHaveAsManyParametersAsPublished) {
    struct Published {
        std::int64_t layers, hidden, heads;
        double billions;
    };
    for (auto const& [layers, hidden, heads, billions] :
         {Published{24, 2304, 24, 1.7}, Published{30, 3072, 32, 3.6}, Published{36, 4096, 32, 7.5},
          Published{40, 6144, 48, 18.4}, Published{48, 8192, 64, 39.1},
          Published{60, 10240, 80, 76.1}, Published{80, 12288, 96, 145.6},
          Published{96, 16384, 128, 310.1}, Published{105, 20480, 128, 529.6},
          Published{128, 25600, 160, 1008.0}}) {
        double const positions = 2048e-9 * static_cast<double>(hidden);
        EXPECT_NEAR(parameters(gpt_row(layers, hidden, heads, 1)) + positions, billions, 0.0501);
    }
}

// arXiv 2407.21783, table 3: 405B.
TEST(EvaluateMemory, GroupedHeadsAndGatedMlpsAreCounted) {
    EvaluateRow row = gpt_row(126, 16384, 128, 1);
    row.gpt->kv_heads = 8;
    row.gpt->ffn_hidden = 53248;
    row.gpt->gated = true;
    row.gpt->vocab = 128256;
    EXPECT_NEAR(parameters(row), 405, 1);
}

TEST(EvaluateMemory, BlocksOfAKindAreAlike) {
    for (auto const* name :
         {"stdit2-xl/2", "stdit3-xl/2", "stdit3-3b/2", "mmdit-11b", "stdit3-tiny", "mmdit-tiny"}) {
        ModelShape const shape = model_shape(name).value();
        std::int64_t all = 0, shared = 0;
        for (ModelPart const& part : model_parts(shape)) {
            if (part.name.find("blocks.") == std::string::npos) continue;
            all += part.parameters;
            shared += part.shared;
        }
        BlockParameters const found = parameters_of_blocks(shape, {});
        EXPECT_EQ(found.all, all) << name;
        EXPECT_EQ(found.shared, shared) << name;
    }
}

// arXiv 2205.05198, table 2: bytes a layer keeps.
TEST(EvaluateMemory, ActivationsFollowThePublishedFormulas) {
    EvaluateRow row = gpt_row(48, 6144, 64, 1);
    row.layout.micro_batch_size = 4;
    row.layout.tp_size = 8;
    double const sbh = 2048.0 * 4 * 6144, scores = 5.0 * 64 * 2048 / 6144;
    row.layout.recompute = "none";
    EXPECT_DOUBLE_EQ(layer_activation_bytes(row), sbh * (10 + 24.0 / 8 + scores / 8));
    row.layout.sequence_parallel = true;
    EXPECT_DOUBLE_EQ(layer_activation_bytes(row), sbh / 8 * (34 + scores));
    row.layout.recompute = "selective";
    EXPECT_DOUBLE_EQ(layer_activation_bytes(row), sbh / 8 * 34);
    row.layout.recompute = "full";
    EXPECT_DOUBLE_EQ(layer_activation_bytes(row), sbh / 8 * 2);
}

// Weights, gradients, fp32 master and moments: 18 bytes a parameter, 6 + 12/dp with ZeRO 1.
TEST(EvaluateMemory, StatesAreShardedByStage) {
    EvaluateRow row = gpt_row(24, 2304, 24, 1);
    row.layout.dp_size = 8;
    row.constants.memory_margin = 1;
    row.constants.fused_attention = 1;
    double const gib = parameters(row) * 1e9 / (1 << 30);
    double const none = peak_memory_gib(row);
    row.layout.zero_stage = 1;
    double const one = peak_memory_gib(row);
    EXPECT_NEAR(none - one, gib * 12 * 7 / 8, 1e-6);
    row.layout.zero_stage = 2;
    EXPECT_NEAR(one - peak_memory_gib(row), gib * 4 * 7 / 8, 1e-6);
}

TEST(EvaluateMemory, AdaptersNeedNoStateOfTheFrozenWeights) {
    EvaluateRow row = gpt_row(32, 4096, 32, 1);
    row.layout.dp_size = 8;
    Evaluation const whole = evaluate(row);
    row.layout.lora_rank = 16;
    Evaluation const adapters = evaluate(row);
    // 16 of 18 bytes a parameter: master, moments and gradient.
    double const parameters = 32.0 * 12 * 4096 * 4096;
    EXPECT_NEAR(whole.peak_memory_gib - adapters.peak_memory_gib,
                1.05 * 16 * parameters / (1LL << 30), 0.1 * whole.peak_memory_gib);
    EXPECT_LT(adapters.parts.compute_s, 0.85 * whole.parts.compute_s);
    EXPECT_LT(adapters.parts.dp_comm_s, 0.05 * whole.parts.dp_comm_s);
}

}  // namespace
}  // namespace osora::plan
