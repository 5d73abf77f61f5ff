// Codes of blocks against the definition, over values that try to break them.
#include "worker/memory/block_codec.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace osora::worker {
namespace {

struct Coded {
    std::vector<std::int8_t> codes;
    std::vector<float> scales, decoded;
    RoundingSums sums;
};

Coded coded(std::vector<float> const& values, std::optional<std::uint64_t> key = {}) {
    auto const count = static_cast<std::int64_t>(values.size());
    Coded out{std::vector<std::int8_t>(values.size()),
              std::vector<float>(static_cast<std::size_t>(block_count(count))),
              std::vector<float>(values.size()),
              {}};
    out.sums = encode_int8(values.data(), count, {key, 0}, out.codes.data(), out.scales.data());
    decode_int8(out.codes.data(), out.scales.data(), count, out.decoded.data());
    return out;
}

std::vector<float> normal(std::size_t count, double scale, unsigned seed = 1) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> draw;
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(scale * draw(generator));
    return values;
}

// |value - decoded| <= half a step of the block, for every value.
void expect_within_half_a_step(std::vector<float> const& values) {
    Coded const out = coded(values);
    ASSERT_TRUE(out.sums.finite);
    for (std::size_t start = 0; start < values.size(); start += kBlockValues) {
        std::size_t const end = std::min(values.size(), start + kBlockValues);
        double largest = 0;
        for (std::size_t i = start; i < end; ++i)
            largest = std::max(largest, std::abs(double{values[i]}));
        for (std::size_t i = start; i < end; ++i) {
            ASSERT_TRUE(std::isfinite(out.decoded[i]));
            ASSERT_LE(std::abs(double{values[i]} - out.decoded[i]),
                      largest / 127 * 0.5 * 1.0001 + 1.5e-36)
                << i << ": " << values[i];
        }
    }
}

TEST(BlockCodec, WithinHalfAStep) {
    for (double const scale : {1e-45, 1e-38, 1e-20, 1e-3, 1.0, 1e10, 1e37})
        for (std::size_t const count : {1U, 127U, 128U, 129U, 4097U})
            expect_within_half_a_step(normal(count, scale));
    expect_within_half_a_step(std::vector<float>(300, 0.0F));
    expect_within_half_a_step(std::vector<float>(300, -FLT_MAX));
    expect_within_half_a_step(std::vector<float>(300, FLT_TRUE_MIN));
    auto outlier = normal(1000, 1e-3);
    outlier[500] = 1e30F;
    expect_within_half_a_step(outlier);
}

TEST(BlockCodec, ExactWhereValuesAreMultiplesOfTheStep) {
    std::vector<float> values;
    for (int i = -127; i <= 127; ++i) values.push_back(static_cast<float>(i) * 0.25F);
    values.insert(values.end(), {31.75F, 0});  // the second block ends with what the first began
    Coded const out = coded(values);
    for (std::size_t i = 0; i < 128; ++i) EXPECT_EQ(out.decoded[i], values[i]) << i;
}

TEST(BlockCodec, WhatIsNotFiniteIsSaid) {
    for (float const bad :
         {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
          std::numeric_limits<float>::quiet_NaN()}) {
        for (std::size_t const place : {0U, 200U, 511U, 512U}) {
            auto values = normal(513, 1);
            values[place] = bad;
            EXPECT_FALSE(coded(values).sums.finite) << bad << " at " << place;
        }
    }
}

TEST(BlockCodec, ErrorIsWhatIsMeasured) {
    for (std::optional<std::uint64_t> const key :
         {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(9)}) {
        auto const values = normal(1 << 16, 3);
        Coded const out = coded(values, key);
        double error = 0, square = 0, bias = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            double const difference = double{values[i]} - out.decoded[i];
            error += difference * difference;
            bias += difference;
            square += double{values[i]} * values[i];
        }
        EXPECT_NEAR(std::sqrt(out.sums.expected_square / error), 1, 0.02);
        EXPECT_NEAR(out.sums.value_square / square, 1, 0.001);
        EXPECT_NEAR(bias / static_cast<double>(values.size()), 0, 5e-4);
    }
}

// The mean of many roundings of a value is the value: 0.3 of a step is a step in 3 of 10 cases.
TEST(BlockCodec, AtRandomTheMeanIsRight) {
    std::vector<float> values(kBlockValues * 64, 0.3F);
    for (std::size_t i = 0; i < values.size(); i += kBlockValues) values[i] = 127;
    Coded const out = coded(values, 5);
    double const ones = static_cast<double>(std::ranges::count(out.codes, 1));
    EXPECT_NEAR(ones / (127 * 64), 0.3, 0.02);
    EXPECT_EQ(coded(values).codes[1], 0);
}

TEST(BlockCodec, AtRandomFollowsTheKeyAndThePlace) {
    auto const values = normal(4096, 1);
    EXPECT_EQ(coded(values, 5).codes, coded(values, 5).codes);
    EXPECT_NE(coded(values, 5).codes, coded(values, 6).codes);
    std::vector<std::int8_t> tail(2048);
    std::vector<float> scales(16);
    static_cast<void>(
        encode_int8(values.data() + 2048, 2048, {5, 2048}, tail.data(), scales.data()));
    auto const whole = coded(values, 5).codes;
    EXPECT_TRUE(std::equal(tail.begin(), tail.end(), whole.begin() + 2048));
}

}  // namespace
}  // namespace osora::worker
