// Seeding: Melissa O'Neill's seed_seq alternative ("Developing a seed_seq Alternative", 2015) with
// the constants of numpy/random/bit_generator.pyx; numbers: PCG64 XSL-RR ("PCG: A Family of Simple
// Fast Space-Efficient Statistically Good Algorithms for Random Number Generation", 2014).
#include "plan/buckets/numpy_rng.hpp"

#include <array>
#include <bit>

namespace osora::plan {
namespace {

using Pool = std::array<std::uint32_t, 4>;

constexpr __uint128_t kMultiplier =
    (static_cast<__uint128_t>(2549297995355413924ull) << 64) | 4865540595714422341ull;

/// Scrambles values in sequence, each with another constant.
class Hash {
public:
    Hash(std::uint32_t start, std::uint32_t factor) : constant_(start), factor_(factor) {}
    std::uint32_t operator()(std::uint32_t value) {
        value ^= constant_;
        constant_ *= factor_;
        value *= constant_;
        return value ^ (value >> 16);
    }

private:
    std::uint32_t constant_;
    std::uint32_t factor_;
};

Pool mixed_pool(std::uint64_t seed) {
    Hash hash(0x43b0d7e5, 0x931e8875);
    Pool pool{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), 0, 0};
    for (std::uint32_t& word : pool) word = hash(word);
    for (std::uint32_t const& from : pool) {
        for (std::uint32_t& to : pool) {
            if (&from == &to) continue;
            std::uint32_t const both = to * 0xca01f9ddu - hash(from) * 0x4973f715u;
            to = both ^ (both >> 16);
        }
    }
    return pool;
}

}  // namespace

NumpyRng::NumpyRng(std::uint64_t seed) {
    Pool const pool = mixed_pool(seed);
    Hash hash(0x8b51f9dd, 0x58f38ded);
    std::array<std::uint64_t, 4> words{};  // low half first
    for (std::size_t i = 0; i < 8; ++i) {
        words[i / 2] |= static_cast<std::uint64_t>(hash(pool[i % 4])) << (i % 2 * 32);
    }
    increment_ = (((static_cast<__uint128_t>(words[2]) << 64) | words[3]) << 1) | 1;
    step();
    state_ += (static_cast<__uint128_t>(words[0]) << 64) | words[1];
    step();
}

void NumpyRng::step() {
    state_ = state_ * kMultiplier + increment_;
}

double NumpyRng::random() {
    step();
    auto const folded =
        static_cast<std::uint64_t>(state_ >> 64) ^ static_cast<std::uint64_t>(state_);
    std::uint64_t const bits = std::rotr(folded, static_cast<int>(state_ >> 122));
    return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

}  // namespace osora::plan
