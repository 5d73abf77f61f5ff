// fp32 numbers as blocks of int8 codes with one fp32 scale each: value = code x scale, scale =
// largest magnitude of the block / 127. Loops over plain memory, no LibTorch; a block's codes
// depend only on its values (and, rounded stochastically, on a key and its position).
#pragma once

#include <cstdint>
#include <optional>

namespace osora::worker {

/// Values that share a scale: 1.03 bytes per value.
inline constexpr std::int64_t kBlockValues = 128;

[[nodiscard]] constexpr std::int64_t block_count(std::int64_t values) {
    return (values + kBlockValues - 1) / kBlockValues;
}

/// Rounding errors of a run of blocks. Sums of the runs of a tensor add up.
struct RoundingSums {
    bool finite = true;          // else the errors are unknown, and the codes must not be used
    double value_square = 0;     // of the rounded values
    double expected_square = 0;  // of the errors: scale^2 / 12 a value, 1 / 6 when stochastic
    double sampled_value_square = 0, sampled_error_square = 0;  // of the first block, measured
};

[[nodiscard]] RoundingSums operator+(RoundingSums a, RoundingSums const& b);

/// With a key: rounds up or down with the probabilities that make the mean right, by random numbers
/// derived from the key and `first` + the position of a value (Gupta et al., arXiv 1502.02551).
/// Without: to the nearest.
struct Rounding {
    std::optional<std::uint64_t> key = {};
    std::uint64_t first = 0;
};

/// `count` values -> as many codes and block_count(count) scales. A block whose largest magnitude
/// is below 1.5e-36 becomes zeros, which the sums show.
[[nodiscard]] RoundingSums encode_int8(float const* values, std::int64_t count,
                                       Rounding const& rounding, std::int8_t* codes, float* scales);

void decode_int8(std::int8_t const* codes, float const* scales, std::int64_t count, float* values);
/// The same, each value rounded to bf16 (its upper 16 bits).
void decode_int8(std::int8_t const* codes, float const* scales, std::int64_t count,
                 std::uint16_t* bf16_values);
void widen_bf16(std::uint16_t const* bf16_values, std::int64_t count, float* values);

}  // namespace osora::worker
