#include "plan/model/model_sizes.hpp"

#include <gtest/gtest.h>

namespace osora::plan {
namespace {

ModelSection of(char const* arch) {
    ModelSection model;
    model.arch = arch;
    return model;
}

TEST(ModelSizes, ZeroIsAsTheArchitectureSays) {
    for (std::string const& name : model_names()) {
        ModelSection model;
        model.arch = name;
        EXPECT_TRUE(size_violations(model).empty()) << name;
        auto const shape = model_shape(model);
        ASSERT_TRUE(shape.has_value()) << name;
        EXPECT_EQ(parameter_count(*shape).parameters,
                  parameter_count(model_shape(name).value()).parameters);
    }
}

TEST(ModelSizes, EachKeyIsItsSize) {
    ModelSection model = of("mmdit-11b");
    model.depth = 3;
    model.single_depth = 4;
    model.hidden = 512;
    model.heads = 8;
    model.mlp_ratio = 2;
    model.patch_size = 1;
    model.in_channels = 5;
    model.text_tokens = 6;
    model.caption_channels = 7;
    model.pooled_channels = 9;
    auto const shape = model_shape(model).value();
    EXPECT_EQ(shape.blocks(), 7);
    EXPECT_EQ(shape.head_dim(), 64);
    EXPECT_EQ(shape.mlp_hidden(), 1024);
    EXPECT_EQ(shape.patch_size, (std::array{1, 1, 1}));
    EXPECT_EQ(shape.pixel_multiple(), 8);
    EXPECT_EQ(shape.in_channels, 5);
    EXPECT_EQ(shape.text_tokens, 6);
    EXPECT_EQ(shape.caption_channels, 7);
    EXPECT_EQ(shape.pooled_channels, 9);
}

TEST(ModelSizes, WhatCannotWorkNamesTheKeyAndTheNearest) {
    struct Case {
        char const* arch;
        int hidden, heads;
        char const* key;
        char const* message;
    };
    Case const cases[] = {
        {"stdit3-tiny", 90, 0, "model.hidden",
         "4 heads take multiples of 8, at least 8; nearest valid: 88, 96"},
        {"stdit3-tiny", 6, 0, "model.hidden",
         "4 heads take multiples of 8, at least 8; nearest valid: 8"},
        {"stdit3-tiny", 0, 5, "model.heads",
         "do not cut a width of 96 into heads of an even width; nearest valid: 4, 6"},
        {"stdit3-xl/2", 0, 4096, "model.heads",
         "do not cut a width of 1152 into heads of an even width; nearest valid: 576"},
        {"stdit3-tiny", 96, 5, "model.hidden",
         "5 heads take multiples of 20, at least 20; nearest valid: 80, 100"},
        {"mmdit-tiny", 16, 0, "model.hidden",
         "4 heads take multiples of 8, at least 24; nearest valid: 24"},
        {"mmdit-tiny", 0, 24, "model.heads",
         "do not cut a width of 96 into heads of an even width; nearest valid: 16"}};
    for (Case const& each : cases) {
        ModelSection model = of(each.arch);
        model.hidden = each.hidden;
        model.heads = each.heads;
        auto const found = size_violations(model);
        ASSERT_EQ(found.size(), 1u) << each.message;
        EXPECT_EQ(found[0].key, each.key);
        EXPECT_EQ(found[0].message, each.message);
        EXPECT_EQ(found[0].code, Errc::not_divisible);
        EXPECT_EQ(model_shape(model).error().message, found[0].key + ": " + found[0].message);
    }
}

TEST(ModelSizes, PartsThatTheFamilyLacks) {
    ModelSection model = of("stdit3-tiny");
    model.single_depth = 2;
    model.pooled_channels = 24;
    auto const found = size_violations(model);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].key, "model.single_depth");
    EXPECT_EQ(found[0].message, "is a size of MMDiT; valid with stdit3-tiny: 0");
    EXPECT_EQ(found[1].key, "model.pooled_channels");
    EXPECT_EQ(size_violations(of("stdit4")).at(0).key, "model.arch");
}

/// Rope turns pairs of numbers: all parts are even, and of a head of 128 they are Open-Sora's.
TEST(ModelSizes, RopeAxesFillEveryEvenHead) {
    for (int head = 6; head <= 512; head += 2) {
        ModelShape shape;
        shape.hidden = head;
        shape.heads = 1;
        auto const axes = shape.rope_axes();
        EXPECT_EQ(axes[0] + axes[1] + axes[2], head);
        for (int const axis : axes) EXPECT_TRUE(axis >= 2 && axis % 2 == 0) << head;
    }
    EXPECT_EQ(model_shape("mmdit-11b")->rope_axes(), (std::array{16, 56, 56}));
}

}  // namespace
}  // namespace osora::plan
