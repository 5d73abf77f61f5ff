// The error that a plan states of its step time: from the formulas' usual error, and from the
// errors of earlier plans. Pure.
#pragma once

#include <span>

namespace osora::plan {

/// Half width, relative, that four of five runs stay within. `prior`: the same without any run; it
/// counts as four runs. `errors`: |predicted / measured - 1| of earlier runs of these machines.
/// Normal errors with an unknown deviation: its posterior mean square, and Student's t.
[[nodiscard]] double stated_error(double prior, std::span<double const> errors);

}  // namespace osora::plan
