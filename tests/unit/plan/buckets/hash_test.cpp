// The stateless permutation: a permutation for every size, and no key or place is favoured.
#include "plan/buckets/hash.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace osora::plan {
namespace {

TEST(Hash, MixIsSplitmix64) {
    // First outputs of splitmix64 seeded with 0, from the reference code prng.di.unimi.it.
    EXPECT_EQ(mix64(0), 0xE220A8397B1DCDAFull);
    EXPECT_EQ(mix64(0x9E3779B97F4A7C15ull), 0x6E789E6AA1B965F4ull);
}

TEST(Hash, PermutesEverySize) {
    for (std::uint64_t size : {1u, 2u, 3u, 5u, 16u, 17u, 64u, 100u, 255u, 256u, 257u, 5000u}) {
        for (std::uint64_t key : {0ull, 1ull, 0xFFFFFFFFFFFFFFFFull}) {
            std::vector<bool> seen(size, false);
            for (std::uint64_t i = 0; i < size; ++i) {
                std::uint64_t const to = permuted(i, size, key);
                ASSERT_LT(to, size);
                ASSERT_FALSE(seen[to]) << "size " << size << " key " << key;
                seen[to] = true;
            }
        }
    }
}

// Chi-square of where index 0 and the last index land over many keys; the 1e-6 quantiles of the
// distribution for size - 1 degrees of freedom are below the bounds.
TEST(Hash, NoPlaceIsFavoured) {
    struct Case {
        std::uint64_t size;
        double chi_square_max;
    };
    for (Case const c : {Case{2, 24.0}, Case{3, 28.0}, Case{7, 39.0}, Case{20, 66.0}}) {
        constexpr int kKeys = 20'000;
        for (std::uint64_t index : {std::uint64_t{0}, c.size - 1}) {
            std::vector<int> count(c.size, 0);
            for (int key = 0; key < kKeys; ++key) {
                ++count[permuted(index, c.size, mix64(static_cast<std::uint64_t>(key)))];
            }
            double const expected = static_cast<double>(kKeys) / static_cast<double>(c.size);
            double chi_square = 0;
            for (int n : count) chi_square += (n - expected) * (n - expected) / expected;
            EXPECT_LT(chi_square, c.chi_square_max) << "size " << c.size << " index " << index;
        }
    }
}

}  // namespace
}  // namespace osora::plan
