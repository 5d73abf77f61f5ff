// The numbers of numpy.random.default_rng(seed): SeedSequence and PCG64, which Open-Sora uses for
// its choice of buckets. Pure.
#pragma once

#include <cstdint>

namespace osora::plan {

class NumpyRng {
public:
    explicit NumpyRng(std::uint64_t seed);
    /// Generator.random(): [0, 1), 53 bits.
    [[nodiscard]] double random();

private:
    void step();

    __uint128_t state_ = 0;
    __uint128_t increment_ = 0;
};

}  // namespace osora::plan
