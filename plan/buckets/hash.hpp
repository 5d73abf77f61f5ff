// Counter-based randomness: every draw is a hash of its purpose, so that the order of calls, the
// number of workers and restarts cannot change it. Pure.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace osora::plan {

/// The finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection that mixes all bits.
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

/// A hash of the values in their order.
[[nodiscard]] constexpr std::uint64_t hash64(std::initializer_list<std::uint64_t> values) {
    std::uint64_t hash = 0x6F736F7261ull;
    for (std::uint64_t const value : values) hash = mix64(hash ^ mix64(value));
    return hash;
}

/// [0, 1) from the upper 53 bits.
[[nodiscard]] constexpr double unit_interval(std::uint64_t hash) {
    return static_cast<double>(hash >> 11) * 0x1.0p-53;
}

/// Uniform in [0, limit) by multiply-shift (the bias, limit / 2^64, is far below any use here).
[[nodiscard]] constexpr std::uint64_t below(std::uint64_t hash, std::uint64_t limit) {
    return static_cast<std::uint64_t>((static_cast<__uint128_t>(hash) * limit) >> 64);
}

/// The position of `index` in the permutation of [0, size) that `key` selects; index < size. O(1)
/// time and no state: a Feistel network over the next power of four, walked until it is inside.
[[nodiscard]] std::uint64_t permuted(std::uint64_t index, std::uint64_t size, std::uint64_t key);

}  // namespace osora::plan
