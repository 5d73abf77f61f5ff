// Figures of ranks by step in about a byte each: rounded to 0.2 % steps of their logarithm and
// coded as the difference from the step's median, in Rice codes. Pure. Times of the ranks of a step
// are alike, so most differences are small.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace osora::protocol {

constexpr std::size_t kMatrixValuesMax = 1 << 20;

/// `values`: rows of `ranks` each, a row for each step. A value decodes within 0.1 %; below 1e-9 (a
/// negative one too) as 0; above 1e12 as 1e12; NaN as NaN. At most 10 bytes a value.
[[nodiscard]] std::string encode_matrix(std::span<float const> values, std::size_t ranks);

/// `steps` rows of `ranks` values. invalid_input: the bytes end early, are followed by others, or
/// come from no encoder; or there would be more than kMatrixValuesMax.
[[nodiscard]] Result<std::vector<float>> decode_matrix(std::string_view bytes, std::size_t steps,
                                                       std::size_t ranks);

}  // namespace osora::protocol
