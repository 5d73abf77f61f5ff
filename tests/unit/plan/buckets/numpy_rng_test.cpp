// numpy.random.default_rng against numbers of numpy 2.4.6.
#include "plan/buckets/numpy_rng.hpp"

#include <gtest/gtest.h>

#include <array>

namespace osora::plan {
namespace {

TEST(NumpyRng, IsDefaultRng) {
    struct Known {
        std::uint64_t seed;
        std::array<double, 3> numbers;
    };
    // [numpy.random.default_rng(seed).random() for _ in range(3)]; seeds of one and two words.
    for (Known const& known :
         {Known{0, {0.6369616873214543, 0.2697867137638703, 0.04097352393619469}},
          Known{1, {0.5118216247002567, 0.9504636963259353, 0.14415961271963373}},
          Known{42, {0.7739560485559633, 0.4388784397520523, 0.8585979199113825}},
          Known{4294967295, {0.2519435680449965, 0.21906579628685663, 0.28728472043517017}},
          Known{4294967296, {0.8897387912781343, 0.5571380502062263, 0.8009080868919721}},
          Known{987654321012345678, {0.7428670026699559, 0.8041928875243735, 0.4209597678818606}},
          Known{18446744073709551615ull,
                {0.6800266789616931, 0.8453117585624743, 0.007403081599260064}}}) {
        NumpyRng rng(known.seed);
        for (double const number : known.numbers) EXPECT_EQ(rng.random(), number) << known.seed;
    }
}

}  // namespace
}  // namespace osora::plan
