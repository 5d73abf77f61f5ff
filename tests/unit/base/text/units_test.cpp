#include "base/text/units.hpp"

#include <gtest/gtest.h>

namespace osora {
namespace {

TEST(Units, RatesOfLinks) {
    EXPECT_EQ(format_gbit_per_s(0.0625), "62.5 Mbit/s");
    EXPECT_EQ(format_gbit_per_s(46.12), "46.1 Gbit/s");
    EXPECT_EQ(format_gbit_per_s(3200), "3200 Gbit/s");
}

TEST(Units, BytesHaveThreeDigitsAndBinaryPrefixes) {
    EXPECT_EQ(format_bytes(0), "0 B");
    EXPECT_EQ(format_bytes(1023), "1023 B");
    EXPECT_EQ(format_bytes(1536), "1.50 KiB");
    EXPECT_EQ(format_bytes(kMiB - 1), "1.00 MiB");
    EXPECT_EQ(format_bytes(61 * kGiB + 400 * kMiB), "61.4 GiB");
    EXPECT_EQ(format_bytes(-2 * kMiB), "-2.00 MiB");
}

TEST(Units, SecondsChooseTheirUnit) {
    EXPECT_EQ(format_seconds(0.00085), "850 us");
    EXPECT_EQ(format_seconds(0.0123), "12.3 ms");
    EXPECT_EQ(format_seconds(0.9999), "1.00 s");
    EXPECT_EQ(format_seconds(7.28), "7.28 s");
    EXPECT_EQ(format_seconds(250), "4 min 10 s");
    EXPECT_EQ(format_seconds(11100), "3 h 05 min");
    EXPECT_EQ(format_seconds(5 * 86400 + 19 * 3600), "5 d 19 h");
}

TEST(Units, CountsAreGrouped) {
    EXPECT_EQ(format_count(0), "0");
    EXPECT_EQ(format_count(999), "999");
    EXPECT_EQ(format_count(1240), "1,240");
    EXPECT_EQ(format_count(-1207643972), "-1,207,643,972");
}

}  // namespace
}  // namespace osora
