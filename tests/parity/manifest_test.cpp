// Names, shapes and counts of the models against the state dicts they must load
// (tests/data/models/README.md); on the meta device, so that nothing is allocated.
#include "plan/model/model_sizes.hpp"
#include "worker/model/mmdit/mmdit.hpp"
#include "worker/model/network_parameters.hpp"
#include "worker/model/stdit/stdit2.hpp"
#include "worker/model/stdit/stdit3.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace osora::worker {
namespace {

using Rows = std::vector<std::string>;  // "name shape kind", sorted

Rows manifest(std::string const& name) {
    std::ifstream file(OSORA_SOURCE_DIR "/tests/data/models/" + name + ".tsv");
    Rows rows;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with('#')) continue;
        std::istringstream fields(line);
        std::string tensor, shape, kind;
        fields >> tensor >> shape >> kind;
        rows.push_back(tensor + " " + shape + " " + kind);
    }
    std::ranges::sort(rows);
    return rows;
}

struct Listed {
    Rows rows;
    std::int64_t tensors = 0, parameters = 0;  // without buffers
};

Listed listed(Parameters const& parameters) {
    Listed found;
    for (auto const& [name, tensor, kind] : parameters.all()) {
        EXPECT_TRUE(tensor.is_meta()) << name;
        bool const buffer = kind == TensorKind::buffer;
        found.rows.push_back(fmt::format("{} {} {}", name, fmt::join(tensor.sizes().vec(), "x"),
                                         buffer ? "buffer" : "param"));
        if (buffer) continue;
        ++found.tensors;
        found.parameters += tensor.numel();
    }
    std::ranges::sort(found.rows);
    return found;
}

void expect_listed(Parameters const& parameters, std::string const& name, std::int64_t tensors,
                   std::int64_t count) {
    Listed const found = listed(parameters);
    Rows const expected = manifest(name);
    ASSERT_FALSE(expected.empty());
    EXPECT_EQ(found.rows, expected);
    EXPECT_EQ(found.tensors, tensors);
    EXPECT_EQ(found.parameters, count);
}

/// What the planner counts without LibTorch.
void expect_planned(std::string const& arch, Parameters const& parameters) {
    auto const count = plan::parameter_count(plan::model_shape(arch).value());
    Listed const found = listed(parameters);
    EXPECT_EQ(count.tensors, found.tensors) << arch;
    EXPECT_EQ(count.parameters, found.parameters) << arch;
}

at::TensorOptions const kMeta(at::kMeta);

TEST(Manifest, Stdit3) {
    Stdit3 const large(stdit3_config("stdit3-xl/2").value(), kMeta);
    expect_listed(large.parameters(), "stdit3_xl2", 972, 1'207'643'972);
    expect_planned("stdit3-xl/2", large.parameters());
    EXPECT_EQ(large.parameters().trainable_count(), 1'207'643'972 - 36);  // rope.freqs is frozen
    Stdit3 const largest(stdit3_config("stdit3-3b/2").value(), kMeta);
    expect_listed(largest.parameters(), "stdit3_3b2", 972, 3'182'211'572);
    expect_planned("stdit3-3b/2", largest.parameters());
}

TEST(Manifest, Stdit2) {
    Stdit2 const large(stdit2_config("stdit2-xl/2").value(), kMeta);
    expect_listed(large.parameters(), "stdit2_xl2", 706, 767'452'100);
    expect_planned("stdit2-xl/2", large.parameters());
}

TEST(Manifest, Mmdit) {
    Mmdit const text(mmdit_config("mmdit-11b").value(), kMeta);
    expect_listed(text.parameters(), "mmdit_v2_11b_t2v", 1080, 11'891'178'560);
    expect_planned("mmdit-11b", text.parameters());
    Mmdit const image(mmdit_config("mmdit-11b-i2v").value(), kMeta);
    expect_listed(image.parameters(), "mmdit_v2_11b_i2v_cond", 1082, 11'891'390'528);
}

/// Small models, and sizes that a run file sets.
TEST(Manifest, EverySizeIsCountedAsItIsBuilt) {
    struct Case {
        char const* arch;
        int depth, hidden, heads, in_channels, text_tokens;
    };
    Case const cases[] = {{"stdit3-tiny", 0, 0, 0, 0, 0},     {"mmdit-tiny", 0, 0, 0, 0, 0},
                          {"stdit3-xl/2", 3, 288, 6, 16, 77}, {"stdit3-tiny", 1, 24, 2, 4, 1},
                          {"stdit2-tiny", 0, 0, 0, 0, 0},     {"stdit2-xl/2", 3, 288, 6, 16, 77},
                          {"mmdit-11b", 2, 240, 10, 4, 9},    {"mmdit-tiny", 5, 48, 8, 0, 0}};
    for (Case const& each : cases) {
        plan::ModelSection model;
        model.arch = each.arch;
        model.depth = each.depth;
        model.hidden = each.hidden;
        model.heads = each.heads;
        model.in_channels = each.in_channels;
        model.text_tokens = each.text_tokens;
        model.caption_channels = 48;
        model.mlp_ratio = 2.5;
        auto const shape = plan::model_shape(model);
        ASSERT_TRUE(shape.has_value()) << shape.error().message;
        auto const built = network_parameters(*shape);
        ASSERT_TRUE(built.has_value()) << built.error().message;
        auto const count = plan::parameter_count(*shape);
        Listed const found = listed(*built);
        EXPECT_EQ(count.tensors, found.tensors) << each.arch;
        EXPECT_EQ(count.parameters, found.parameters) << each.arch;
    }
}

/// flux's own names: as many numbers in fewer tensors.
TEST(Manifest, FusedMmditHoldsTheSameNumbers) {
    MmditConfig config = mmdit_config("mmdit-11b").value();
    config.fused_qkv = true;
    Mmdit const fused(config, kMeta);
    Listed const found = listed(fused.parameters());
    EXPECT_EQ(found.parameters, 11'891'178'560);
    EXPECT_EQ(found.tensors, 1080 - 19 * 2 * 4 - 38 * 4);
    auto const shape = [&](std::string_view name) {
        auto const* entry = fused.parameters().find(name);
        return entry == nullptr ? std::vector<std::int64_t>() : entry->tensor.sizes().vec();
    };
    EXPECT_EQ(shape("double_blocks.0.txt_attn.qkv.weight"),
              (std::vector<std::int64_t>{9216, 3072}));
    EXPECT_EQ(shape("single_blocks.37.linear1.weight"), (std::vector<std::int64_t>{21504, 3072}));
}

}  // namespace
}  // namespace osora::worker
