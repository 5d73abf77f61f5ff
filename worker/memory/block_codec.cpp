// Written so that g++ makes vectors of the loops: magnitudes are compared as the integers that
// their bits are, sums are of integers, and rounding is an addition. Each loop is compiled twice on
// x86-64; without FMA, so that both give the same bits.
#include "worker/memory/block_codec.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>

namespace osora::worker {
namespace {

constexpr float kLevels = 127;
constexpr float kScaleMin = FLT_MIN;               // its reciprocal is finite
constexpr float kScaleMax = FLT_MAX / 128;         // 127 times it is finite
constexpr std::uint32_t kMagnitude = 0x7fffffffU;  // all but the sign
constexpr std::uint32_t kInfinity = 0x7f800000U;
// A number below 2^22 plus this has its nearest integer (ties to even) in its lower bits.
constexpr float kRounder = 12582912.0F;  // 1.5 x 2^23

[[gnu::always_inline]] inline std::int32_t nearest(float value) {
    return std::bit_cast<std::int32_t>(value + kRounder) - std::bit_cast<std::int32_t>(kRounder);
}

/// In [-1/2, 1/2): a finaliser of Murmur's kind with the constants of
/// github.com/skeeto/hash-prospector (lowbias32).
[[gnu::always_inline]] inline float dither(std::uint32_t place, std::uint32_t key) {
    std::uint32_t h = place * 0x9e3779b9U ^ key;
    h = (h ^ (h >> 16U)) * 0x7feb352dU;
    h = (h ^ (h >> 15U)) * 0x846ca68bU;
    h ^= h >> 16U;
    return static_cast<float>(static_cast<std::int32_t>(h >> 8U)) * 0x1p-24F - 0.5F;
}

[[gnu::always_inline]] inline float largest_magnitude(float const* values) {
    std::uint32_t largest = 0;
    for (std::int64_t i = 0; i < kBlockValues; ++i)
        largest = std::max(largest, std::bit_cast<std::uint32_t>(values[i]) & kMagnitude);
    return std::bit_cast<float>(largest);
}

struct Salt {
    std::uint64_t key = 0, first = 0;
};

/// Sum of the squares of the codes.
template <bool kDithered>
[[gnu::always_inline]] inline std::int32_t round_block(float const* values, float inverse,
                                                       std::uint32_t first, std::uint32_t key,
                                                       std::int8_t* codes) {
    std::int32_t squares = 0;
    for (std::int64_t i = 0; i < kBlockValues; ++i) {
        float scaled = values[i] * inverse;
        if constexpr (kDithered) scaled += dither(first + static_cast<std::uint32_t>(i), key);
        std::int32_t code = nearest(scaled);
        if constexpr (kDithered) code = std::clamp(code, -127, 127);
        codes[i] = static_cast<std::int8_t>(code);
        squares += code * code;
    }
    return squares;
}

void measure(float const* values, std::int8_t const* codes, float scale, RoundingSums& sums) {
    for (std::int64_t i = 0; i < kBlockValues; ++i) {
        double const value = values[i];
        double const error = value - static_cast<double>(codes[i]) * scale;
        sums.sampled_value_square += value * value;
        sums.sampled_error_square += error * error;
    }
}

template <bool kDithered>
[[gnu::always_inline]] inline RoundingSums encode_whole(float const* values, std::int64_t blocks,
                                                        Salt const& salt, std::int8_t* codes,
                                                        float* scales) {
    RoundingSums sums;
    for (std::int64_t block = 0; block < blocks; ++block) {
        float const* const from = values + block * kBlockValues;
        std::int8_t* const to = codes + block * kBlockValues;
        float const largest = largest_magnitude(from);
        if (std::bit_cast<std::uint32_t>(largest) >= kInfinity) {
            sums.finite = false;
            return sums;
        }
        float const scale = std::min(largest / kLevels, kScaleMax);
        bool const lost = scale < kScaleMin;
        scales[block] = lost ? 0 : scale;
        std::uint64_t const place = salt.first + static_cast<std::uint64_t>(block * kBlockValues);
        // A tensor of more than 2^32 values continues with another key.
        auto const folded =
            static_cast<std::uint32_t>(salt.key ^ (salt.key >> 32U) ^ (place >> 32U));
        std::int32_t const squares = round_block<kDithered>(
            from, lost ? 0 : 1 / scale, static_cast<std::uint32_t>(place), folded, to);
        double const step_square = static_cast<double>(scale) * scale;
        if (lost) {
            if (kDithered) std::fill_n(to, kBlockValues, std::int8_t{0});
            sums.expected_square += static_cast<double>(largest) * largest * kBlockValues;
        } else {
            sums.value_square += step_square * squares;
            sums.expected_square += step_square * kBlockValues / (kDithered ? 6 : 12);
        }
        if (block == 0) measure(from, to, scales[0], sums);
    }
    return sums;
}

template <typename Value>
[[gnu::always_inline]] inline Value decoded(std::int8_t code, float scale) {
    float const value = static_cast<float>(code) * scale;
    if constexpr (sizeof(Value) == sizeof(float)) {
        return value;
    } else {
        auto const bits = std::bit_cast<std::uint32_t>(value);
        return static_cast<Value>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
    }
}

template <typename Value>
[[gnu::always_inline]] inline void decode_all(std::int8_t const* codes, float const* scales,
                                              std::int64_t count, Value* values) {
    std::int64_t const whole = count / kBlockValues;
    for (std::int64_t block = 0; block < whole; ++block) {
        float const scale = scales[block];
        std::int8_t const* const from = codes + block * kBlockValues;
        Value* const to = values + block * kBlockValues;
        for (std::int64_t i = 0; i < kBlockValues; ++i) to[i] = decoded<Value>(from[i], scale);
    }
    for (std::int64_t i = whole * kBlockValues; i < count; ++i)
        values[i] = decoded<Value>(codes[i], scales[whole]);
}

[[gnu::always_inline]] inline void widen_all(std::uint16_t const* from, std::int64_t count,
                                             float* to) {
    for (std::int64_t i = 0; i < count; ++i)
        to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16U);
}

using Encode = RoundingSums (*)(float const*, std::int64_t, Salt const&, std::int8_t*, float*);
template <typename Value>
using Decode = void (*)(std::int8_t const*, float const*, std::int64_t, Value*);
using Widen = void (*)(std::uint16_t const*, std::int64_t, float*);

template <bool kDithered>
RoundingSums encode_plain(float const* values, std::int64_t blocks, Salt const& salt,
                          std::int8_t* codes, float* scales) {
    return encode_whole<kDithered>(values, blocks, salt, codes, scales);
}
template <typename Value>
void decode_plain(std::int8_t const* codes, float const* scales, std::int64_t count,
                  Value* values) {
    decode_all(codes, scales, count, values);
}
void widen_plain(std::uint16_t const* from, std::int64_t count, float* to) {
    widen_all(from, count, to);
}

#if defined(__x86_64__)
template <bool kDithered>
[[gnu::target("avx2")]] RoundingSums encode_avx2(float const* values, std::int64_t blocks,
                                                 Salt const& salt, std::int8_t* codes,
                                                 float* scales) {
    return encode_whole<kDithered>(values, blocks, salt, codes, scales);
}
template <typename Value>
[[gnu::target("avx2")]] void decode_avx2(std::int8_t const* codes, float const* scales,
                                         std::int64_t count, Value* values) {
    decode_all(codes, scales, count, values);
}
[[gnu::target("avx2")]] void widen_avx2(std::uint16_t const* from, std::int64_t count, float* to) {
    widen_all(from, count, to);
}

bool has_avx2() {
    static bool const has = __builtin_cpu_supports("avx2") != 0;
    return has;
}
template <bool kDithered>
Encode encoder() {
    return has_avx2() ? encode_avx2<kDithered> : encode_plain<kDithered>;
}
template <typename Value>
Decode<Value> decoder() {
    return has_avx2() ? decode_avx2<Value> : decode_plain<Value>;
}
Widen widener() {
    return has_avx2() ? widen_avx2 : widen_plain;
}
#else
template <bool kDithered>
Encode encoder() {
    return encode_plain<kDithered>;
}
template <typename Value>
Decode<Value> decoder() {
    return decode_plain<Value>;
}
Widen widener() {
    return widen_plain;
}
#endif

}  // namespace

RoundingSums operator+(RoundingSums a, RoundingSums const& b) {
    a.finite = a.finite && b.finite;
    a.value_square += b.value_square;
    a.expected_square += b.expected_square;
    a.sampled_value_square += b.sampled_value_square;
    a.sampled_error_square += b.sampled_error_square;
    return a;
}

RoundingSums encode_int8(float const* values, std::int64_t count, Rounding const& rounding,
                         std::int8_t* codes, float* scales) {
    Encode const encode = rounding.key ? encoder<true>() : encoder<false>();
    Salt salt{rounding.key.value_or(0), rounding.first};
    std::int64_t const whole = count / kBlockValues;
    RoundingSums sums = encode(values, whole, salt, codes, scales);
    std::int64_t const rest = count - whole * kBlockValues;
    if (rest == 0 || !sums.finite) return sums;
    float padded[kBlockValues] = {};
    std::int8_t rounded[kBlockValues];
    std::copy_n(values + whole * kBlockValues, rest, padded);
    salt.first += static_cast<std::uint64_t>(whole * kBlockValues);
    RoundingSums const last = encode(padded, 1, salt, rounded, scales + whole);
    std::copy_n(rounded, rest, codes + whole * kBlockValues);
    return sums + last;
}

void decode_int8(std::int8_t const* codes, float const* scales, std::int64_t count, float* values) {
    decoder<float>()(codes, scales, count, values);
}
void decode_int8(std::int8_t const* codes, float const* scales, std::int64_t count,
                 std::uint16_t* bf16_values) {
    decoder<std::uint16_t>()(codes, scales, count, bf16_values);
}
void widen_bf16(std::uint16_t const* bf16_values, std::int64_t count, float* values) {
    widener()(bf16_values, count, values);
}

}  // namespace osora::worker
