#include "plan/buckets/shapes.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace osora::plan {
namespace {

TEST(Shapes, AreasAreOpenSoras) {
    // opensora/datasets/aspect.py, ASPECT_RATIOS.
    EXPECT_EQ(*resolution_area("144p"), 36864);
    EXPECT_EQ(*resolution_area("240p"), 102240);
    EXPECT_EQ(*resolution_area("256"), 65536);
    EXPECT_EQ(*resolution_area("480p"), 409920);
    EXPECT_EQ(*resolution_area("1080p"), 2073600);
    EXPECT_EQ(*resolution_area("2880"), 8294400);
    EXPECT_EQ(*resolution_area("48"), 48 * 48);
}

TEST(Shapes, RefusesUnknownResolutions) {
    EXPECT_NE(resolution_area("359p").error().message.find("360p"), std::string::npos);
    EXPECT_NE(resolution_area("4").error().message.find("nearest valid: 8"), std::string::npos);
    EXPECT_TRUE(resolution_area("").has_error());
    EXPECT_TRUE(resolution_area("-64").has_error());
    EXPECT_TRUE(resolution_area("64x").has_error());
    EXPECT_TRUE(resolution_area("99999999999999999999").has_error());
}

TEST(Shapes, KeepAreaRatioAndMultiple) {
    for (std::int64_t area : {36864, 230400, 921600}) {
        for (int multiple : {2, 8, 16}) {
            for (AspectShape const& shape : aspect_shapes(area, multiple)) {
                EXPECT_EQ(shape.height % multiple, 0);
                EXPECT_EQ(shape.width % multiple, 0);
                double const pixels = static_cast<double>(shape.height) * shape.width;
                EXPECT_NEAR(pixels / static_cast<double>(area), 1.0, 0.13);
            }
        }
    }
    auto const shapes = aspect_shapes(230400, 8);
    EXPECT_EQ(shapes[nearest_shape(shapes, 1080, 1920)], (AspectShape{360, 640}));
    EXPECT_EQ(shapes[nearest_shape(shapes, 1920, 1080)], (AspectShape{640, 360}));
    EXPECT_EQ(shapes[nearest_shape(shapes, 777, 777)], (AspectShape{480, 480}));
}

TEST(Shapes, TinyAreasHaveNoShapeTwiceAndNoZeroSide) {
    auto const shapes = aspect_shapes(64, 16);
    ASSERT_FALSE(shapes.empty());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        EXPECT_GE(shapes[i].height, 16);
        for (std::size_t j = 0; j < i; ++j) EXPECT_NE(shapes[i], shapes[j]);
    }
}

}  // namespace
}  // namespace osora::plan
