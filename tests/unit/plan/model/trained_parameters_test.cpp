// What a frozen prefix takes from a run, against the tensor lists of the published models
// (tests/data/models/README.md).
#include "plan/model/trained_parameters.hpp"

#include "plan/calibration.hpp"
#include "plan/memory.hpp"
#include "plan/step_time.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace osora::plan {
namespace {

/// Numbers in tensors of a manifest whose names start with `prefix`; buffers are none.
std::int64_t listed(std::string const& file, std::string const& prefix) {
    std::ifstream rows(OSORA_SOURCE_DIR "/tests/data/models/" + file);
    std::int64_t sum = 0;
    for (std::string row; std::getline(rows, row);) {
        std::istringstream words(row);
        std::string name, shape, kind;
        if (!(words >> name >> shape >> kind) || kind == "buffer" || name == "#") continue;
        if (!name.starts_with(prefix)) continue;
        std::istringstream sizes(shape);
        std::int64_t numbers = 1;
        for (std::string size; std::getline(sizes, size, 'x');) numbers *= std::stoll(size);
        sum += numbers;
    }
    return sum;
}

TEST(TrainedParameters, PartsAreAllOfAModel) {
    for (std::string const& arch : model_names()) {
        ModelShape const shape = model_shape(arch).value();
        std::int64_t sum = 0;
        for (ModelPart const& part : model_parts(shape)) sum += part.parameters;
        EXPECT_EQ(sum, parameter_count(shape).parameters) << arch;
    }
}

TEST(TrainedParameters, BlocksAreCountedOneByOneAndTimesTheirNumberAlike) {
    for (std::string const& arch : model_names()) {
        ModelShape const shape = model_shape(arch).value();
        BlockParameters const times = parameters_of_blocks(shape, {});
        BlockParameters const each = parameters_of_blocks(shape, {"no such part"});
        EXPECT_EQ(times.all, each.all) << arch;
        EXPECT_EQ(times.shared, each.shared) << arch;
        EXPECT_EQ(times.trained, each.trained) << arch;
        EXPECT_EQ(times.shared_trained, each.shared_trained) << arch;
    }
}

TEST(TrainedParameters, FrozenAreThoseOfThePublishedLists) {
    struct Row {
        char const *arch, *file, *prefix;
    };
    for (Row const& row : {Row{"stdit3-xl/2", "stdit3_xl2.tsv", "spatial_blocks."},
                           Row{"stdit3-xl/2", "stdit3_xl2.tsv", "spatial_blocks.1"},
                           Row{"stdit3-xl/2", "stdit3_xl2.tsv", "temporal_blocks.27.mlp"},
                           Row{"stdit3-xl/2", "stdit3_xl2.tsv", "y_embedder"},
                           Row{"stdit3-3b/2", "stdit3_3b2.tsv", "t_"},
                           Row{"stdit2-xl/2", "stdit2_xl2.tsv", "blocks.3.attn_temp"},
                           Row{"stdit2-xl/2", "stdit2_xl2.tsv", "ar_embedder"},
                           Row{"mmdit-11b", "mmdit_v2_11b_t2v.tsv", "double_blocks.3.txt"},
                           Row{"mmdit-11b", "mmdit_v2_11b_t2v.tsv", "single_blocks."}}) {
        std::int64_t const wanted = listed(row.file, row.prefix);
        EXPECT_LT(0, wanted) << row.prefix;
        EXPECT_EQ(frozen_parameters(model_shape(row.arch).value(), {row.prefix}), wanted)
            << row.arch << " " << row.prefix;
    }
}

TEST(TrainedParameters, NothingIsFrozenTwiceOrInsideAPart) {
    ModelShape const xl = model_shape("stdit3-xl/2").value();
    EXPECT_EQ(frozen_parameters(xl, {"spatial_blocks.", "spatial_blocks.3."}),
              frozen_parameters(xl, {"spatial_blocks."}));
    EXPECT_EQ(frozen_parameters(xl, {"spatial_blocks.3.attn.qkv"}), 0);
    EXPECT_EQ(frozen_parameters(xl, {""}), 0);
}

// Two of the blocks that are frozen, or of which a part is, stay beside what is trained.
TEST(TrainedParameters, TwoFrozenBlocksStayIfTheyAreOffloaded) {
    MemoryQuery query{.shape = model_shape("stdit3-xl/2").value(), .bucket = {256, 256, 17}};
    query.freeze = {"spatial_blocks."};
    query.precision = "bf16";
    query.offload_frozen = true;
    RankMemory const memory = rank_memory(query);
    std::int64_t const frozen = listed("stdit3_xl2.tsv", "spatial_blocks.");
    EXPECT_EQ(memory.offloaded_bytes, 2 * frozen);
    EXPECT_EQ(memory.parameter_bytes, 2 * (1'207'643'972 - frozen) + 2 * (2 * frozen / 28));
    EXPECT_EQ(
        memory.checkpoint_bytes() - memory.master_bytes - memory.optimizer_bytes - memory.ema_bytes,
        2 * 1'207'643'972LL);
    query.freeze = {"temporal_blocks.3.", "temporal_blocks.4.", "y_embedder."};  // nothing gained
    EXPECT_EQ(rank_memory(query).parameter_bytes, 2 * 1'207'643'972LL);
    query.shape = model_shape("mmdit-11b").value();
    query.freeze = {"double_blocks.", "single_blocks.3."};
    query.tp_size = 2;
    std::int64_t const one = listed("mmdit_v2_11b_t2v.tsv", "double_blocks.3.");
    RankMemory const whole = rank_memory({.shape = query.shape,
                                          .bucket = query.bucket,
                                          .tp_size = 2,
                                          .precision = "bf16",
                                          .freeze = query.freeze});
    RankMemory const halves = rank_memory(query);
    std::int64_t const kept =
        halves.parameter_bytes - (whole.parameter_bytes - halves.offloaded_bytes);
    EXPECT_GT(kept, 2 * one);  // half of two in bf16, and what tensor parallel ranks do not share
    EXPECT_LT(kept, 4 * one);
}

// Weights stay, gradients, moments and the average go; so does their part of the optimizer's time.
TEST(TrainedParameters, FrozenOnesHaveNoGradientAndNoMoments) {
    MemoryQuery query{.shape = model_shape("stdit3-xl/2").value(), .bucket = {256, 256, 17}};
    query.freeze = {"spatial_blocks."};
    query.precision = "bf16";
    query.accumulates = false;
    std::int64_t const rest = 1'207'643'972 - listed("stdit3_xl2.tsv", "spatial_blocks.");
    RankMemory const memory = rank_memory(query);
    EXPECT_EQ(memory.parameter_bytes, 2 * 1'207'643'972LL);
    EXPECT_EQ(memory.gradient_bytes, 2 * rest);
    EXPECT_EQ(memory.master_bytes, 4 * rest);
    EXPECT_EQ(memory.optimizer_bytes, 8 * rest);
    EXPECT_EQ(memory.ema_bytes, 4 * rest);

    StepQuery step{.shape = query.shape, .bucket = query.bucket};
    double const all = step_time(step, nominal_cpu()).optimizer_s;
    step.freeze = query.freeze;
    EXPECT_NEAR(step_time(step, nominal_cpu()).optimizer_s / all,
                static_cast<double>(rest) / 1'207'643'972, 0.01);
}

}  // namespace
}  // namespace osora::plan
