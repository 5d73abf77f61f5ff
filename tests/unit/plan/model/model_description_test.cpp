#include "plan/model/model_description.hpp"

#include <gtest/gtest.h>

namespace osora::plan {
namespace {

ModelShape shape(char const* arch) {
    return model_shape(arch).value();
}

void expect_count(char const* arch, std::int64_t tensors, std::int64_t parameters) {
    ParameterCount const count = parameter_count(shape(arch));
    EXPECT_EQ(count.tensors, tensors) << arch;
    EXPECT_EQ(count.parameters, parameters) << arch;
}

// Totals of the tensor lists of hpcai-tech/OpenSora-STDiT-v3 (model.safetensors, without the
// y_embedding buffer), of STDiT3-3B/2 and of Open-Sora 2.0's MMDiT (1,080 tensors, no guidance).
TEST(ModelDescription, ParameterTotalsAreThoseOfThePublishedModels) {
    expect_count("stdit3-xl/2", 972, 1'207'643'972);
    expect_count("stdit3-3b/2", 972, 3'182'211'572);
    expect_count("stdit2-xl/2", 706, 767'452'100);  // README of v1.1: 700M
    expect_count("mmdit-11b", 1080, 11'891'178'560);
    EXPECT_EQ(block_parameters(shape("stdit3-xl/2")).parameters, 21'255'696);
}

// Added up by hand, layer by layer: 4 blocks of 149,328 and 145,884 around them.
TEST(ModelDescription, TinyModelAddsUp) {
    EXPECT_EQ(block_parameters(shape("stdit3-tiny")).parameters, 149'328);
    expect_count("stdit3-tiny", 20 + 4 * 17, 4 * 149'328 + 145'884);
}

TEST(ModelDescription, BlocksAreWhatIsRunOneAfterTheOther) {
    EXPECT_EQ(shape("stdit2-xl/2").blocks(), 28);
    EXPECT_EQ(shape("stdit3-xl/2").blocks(), 56);
    EXPECT_EQ(shape("mmdit-11b").blocks(), 19 + 38);
}

TEST(ModelDescription, TinyWorksOnPixels) {
    ModelShape const tiny = shape("stdit3-tiny");
    EXPECT_EQ(tiny.in_channels, 3);
    EXPECT_EQ(tiny.vae.spatial, 1);
    EXPECT_EQ(tiny.vae.temporal, 1);
    EXPECT_EQ(tiny.pixel_multiple(), 4);
    EXPECT_EQ(shape("stdit3-xl/2").pixel_multiple(), 16);
}

TEST(ModelDescription, UnknownNameListsTheKnown) {
    auto const unknown = model_shape("stdit4");
    ASSERT_TRUE(unknown.has_error());
    EXPECT_EQ(unknown.error().code, Errc::not_found);
    EXPECT_EQ(unknown.error().message,
              "unknown architecture 'stdit4'; known: stdit3-tiny, stdit3-xl/2, stdit3-3b/2, "
              "stdit2-tiny, stdit2-xl/2, mmdit-tiny, mmdit-11b");
}

}  // namespace
}  // namespace osora::plan
