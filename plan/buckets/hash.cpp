// The stateless permutation that orders each epoch.
#include "plan/buckets/hash.hpp"

#include "base/check.hpp"

#include <bit>

namespace osora::plan {

std::uint64_t permuted(std::uint64_t index, std::uint64_t size, std::uint64_t key) {
    OSORA_CHECK_LT(index, size);
    if (size == 1) return 0;
    // A network over 2 * half bits permutes at most 4 * size values, so fewer than four walks are
    // expected. Tiny halves have few round functions, hence more rounds than the usual four.
    unsigned const half = (static_cast<unsigned>(std::bit_width(size - 1)) + 1) / 2;
    std::uint64_t const mask = (std::uint64_t{1} << half) - 1;
    std::uint64_t const rounds = half < 8 ? 8 : 4;
    std::uint64_t value = index;
    do {
        std::uint64_t left = value >> half;
        std::uint64_t right = value & mask;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            std::uint64_t const next = left ^ (hash64({key, round, right}) & mask);
            left = right;
            right = next;
        }
        value = (left << half) | right;
    } while (value >= size);
    return value;
}

}  // namespace osora::plan
