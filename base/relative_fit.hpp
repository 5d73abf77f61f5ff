// Least squares of relative errors with non-negative coefficients: fits models of times to a few
// measured points. Pure.
#pragma once

#include <span>
#include <vector>

namespace osora {

/// A row is one measured point: each term's value there, divided by the measured value, so that a
/// perfect model gives sum(row[k] * coefficient[k]) = 1.
using RelativeRow = std::vector<double>;

/// Coefficients of the terms in `set` (bit k: term k), 0 for the others; empty when the terms are
/// linearly dependent in these points, or a coefficient would be negative. All rows have the same
/// length.
[[nodiscard]] std::vector<double> fit_terms(std::span<RelativeRow const> rows, unsigned set);

/// Sum of the squared relative errors.
[[nodiscard]] double squared_error(std::span<RelativeRow const> rows,
                                   std::span<double const> coefficients);

}  // namespace osora
