#include "protocol/steps/matrix_codec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace osora::protocol {
namespace {

using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> there_and_back(std::vector<float> const& values, std::size_t ranks) {
    auto decoded = decode_matrix(encode_matrix(values, ranks), values.size() / ranks, ranks);
    EXPECT_TRUE(decoded.has_value()) << decoded.error().message;
    return decoded.has_value() ? *decoded : std::vector<float>{};
}

void expect_near(std::vector<float> const& found, std::vector<float> const& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (std::isnan(wanted[i])) {
            EXPECT_TRUE(std::isnan(found[i])) << i;
        } else {
            EXPECT_NEAR(found[i], wanted[i], 0.00101 * wanted[i]) << i;
        }
    }
}

TEST(MatrixCodec, ValuesComeBackWithinATenthOfAPercent) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> exponent(-20, 27), share(0, 1);
    for (std::size_t const ranks : {1u, 2u, 7u, 64u}) {
        std::vector<float> values(ranks * 50);
        for (float& each : values) {
            each = share(random) < 0.1 ? kNan : static_cast<float>(std::exp(exponent(random)));
        }
        expect_near(there_and_back(values, ranks), values);
    }
}

TEST(MatrixCodec, ValuesOutOfRangeAreClamped) {
    auto const found = there_and_back({0, -1, 1e-12F, kInfinity, kNan, 1.5e-9F}, 3);
    ASSERT_EQ(found.size(), 6u);
    EXPECT_EQ(found[0], 0);
    EXPECT_EQ(found[1], 0);
    EXPECT_EQ(found[2], 0);
    EXPECT_NEAR(found[3], 1e12, 1e9);
    EXPECT_TRUE(std::isnan(found[4]));
    EXPECT_NEAR(found[5], 1.5e-9, 2e-12);
}

TEST(MatrixCodec, AStepOfAlikeRanksTakesAByteEach) {
    // Ranks that differ by 1 %: the published figure for this code is 0.85 bytes a value
    // (6,977 bytes for 8,192).
    std::mt19937 random(2);
    std::normal_distribution<float> spread(0, 0.01F);
    std::vector<float> values(1024 * 20);
    for (float& each : values) each = 7.2F * std::exp(spread(random));
    auto const bytes = static_cast<double>(encode_matrix(values, 1024).size());
    EXPECT_LT(bytes / static_cast<double>(values.size()), 0.9);
}

TEST(MatrixCodec, TheWorstCaseIsBounded) {
    std::vector<float> values;
    for (int i = 0; i < 640; ++i) values.push_back(i % 2 == 0 ? kNan : 1e12F);
    EXPECT_LE(encode_matrix(values, 64).size(), 1 + 10 * values.size());
    expect_near(there_and_back(values, 64), values);
}

TEST(MatrixCodec, NoRowsAndNoRanks) {
    EXPECT_EQ(encode_matrix({}, 8), "\1");
    EXPECT_TRUE(decode_matrix("\1", 0, 8)->empty());
    EXPECT_TRUE(decode_matrix("\1", 5, 0)->empty());
}

TEST(MatrixCodec, ForeignBytesAreRefused) {
    std::string const good = encode_matrix(std::vector<float>{1, 2, 3, 4}, 2);
    EXPECT_THAT(decode_matrix("", 2, 2).error().message, HasSubstr("version"));
    EXPECT_THAT(decode_matrix("\2" + good.substr(1), 2, 2).error().message, HasSubstr("version"));
    EXPECT_THAT(decode_matrix(good.substr(0, good.size() - 1), 2, 2).error().message,
                HasSubstr("row 1 is damaged"));
    EXPECT_THAT(decode_matrix(good + "x", 2, 2).error().message, HasSubstr("after its end"));
    EXPECT_THAT(decode_matrix(good, 1 << 20, 2).error().message, HasSubstr("1048576 x 2"));
    EXPECT_TRUE(decode_matrix(good, 2, 2).has_value());
}

TEST(MatrixCodec, NoBytesMakeItReadPastTheirEnd) {
    std::mt19937 random(3);
    for (int round = 0; round < 20'000; ++round) {
        std::string bytes(1 + random() % 40, '\1');
        for (std::size_t i = 1; i < bytes.size(); ++i) bytes[i] = static_cast<char>(random());
        auto const decoded = decode_matrix(bytes, random() % 9, random() % 9);
        if (!decoded.has_value()) continue;
        for (float const each : *decoded) EXPECT_FALSE(each < 0 || each > 1.01e12F);
    }
}

}  // namespace
}  // namespace osora::protocol
