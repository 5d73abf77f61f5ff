// How long a test waits for what must happen. Long: a machine that compiles beside the tests is
// slow, and only a test that fails waits to the end. No test asserts that something was fast.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace osora::tests {

/// 60 s, times the variable OSORA_TEST_PATIENCE (a number >= 1) where a machine is slower still.
[[nodiscard]] inline double patience_s() {
    constexpr double kUsual_s = 60;
    char const* const factor = std::getenv("OSORA_TEST_PATIENCE");
    return kUsual_s * std::max(1.0, factor == nullptr ? 1.0 : std::atof(factor));
}

inline double const kPatience_s = patience_s();

}  // namespace osora::tests
