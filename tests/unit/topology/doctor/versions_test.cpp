#include "topology/doctor/versions.hpp"

#include <gtest/gtest.h>

namespace osora::topology::doctor {
namespace {

TEST(Versions, Order) {
    EXPECT_LT(compare_versions("2.9.8", "2.21.5+cuda12.4"), 0);
    EXPECT_EQ(compare_versions("2.21.5", "2.21.5-1"), 0);
    EXPECT_EQ(compare_versions("2.21", "2.21.0"), 0);
    EXPECT_GT(compare_versions("580", "550.54.15"), 0);
    EXPECT_LT(compare_versions("", "1"), 0);
    EXPECT_EQ(compare_versions("...", ""), 0);
}

TEST(Versions, Prefix) {
    EXPECT_TRUE(is_of("2.21.5+cuda12.4", "2.21"));
    EXPECT_FALSE(is_of("2.21.5", "2.2"));
    EXPECT_TRUE(is_of("2.2", "2.2"));
}

TEST(Versions, CombinationsOfWheels) {
    ASSERT_NE(find_combination({{"libtorch", "2.5.1"}, {"nccl", "2.21.5"}, {"cuda", "12.4"}}),
              nullptr);
    EXPECT_EQ(find_combination({{"libtorch", "2.5.1"}, {"nccl", "2.27.5"}}), nullptr);
    EXPECT_EQ(find_combination({{"libtorch", "2.5.1"}}), nullptr)
        << "one version is no combination";
    ASSERT_NE(find_combination({{"libtorch", "2.3.0"}, {"colossalai", "0.4.2"}}), nullptr);
}

TEST(Versions, TroublesAreRanges) {
    for (auto const& each : known_troubles()) {
        EXPECT_LE(compare_versions(each.first, each.last), 0) << each.what;
        EXPECT_FALSE(each.fix.empty()) << each.what;
        EXPECT_FALSE(each.threads.empty()) << each.what;
    }
}

TEST(Versions, OldestDriver) {
    // NVIDIA's table of CUDA compatibility.
    EXPECT_EQ(oldest_driver("12.4.127"), "525");
    EXPECT_EQ(oldest_driver("13.0"), "580");
    EXPECT_EQ(oldest_driver("99.1"), std::nullopt);
}

}  // namespace
}  // namespace osora::topology::doctor
