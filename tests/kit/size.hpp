// How much a test does: its own number in the gate; the soak tier sets a variable to a larger one
// (osora_soak_test in cmake/OsoraSoak.cmake).
#pragma once

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>

namespace osora::tests {

/// The value of `variable`, `fallback` when it is not set. Throws std::invalid_argument, with the
/// variable, for what is no positive whole number.
inline int test_size(char const* variable, int fallback) {
    char const* const value = std::getenv(variable);
    if (value == nullptr) return fallback;
    std::string const text(value);
    int size = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || end != text.data() + text.size() || size < 1) {
        throw std::invalid_argument(std::string(variable) + " = '" + text +
                                    "': expected a positive whole number");
    }
    return size;
}

}  // namespace osora::tests
