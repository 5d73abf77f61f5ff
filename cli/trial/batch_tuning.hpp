// osora tune --batch: which micro-batches, recomputing and layout train most samples a second.
#pragma once

#include "cli/command/command.hpp"

namespace osora::cli {

/// Returns the exit code: 0 the answer is known, 1 no trial ran, 2 wrong arguments, 3 nothing to
/// try.
[[nodiscard]] int tune_batches(Context const& context, Arguments const& arguments);

}  // namespace osora::cli
