// osora bisect --scaling: runs at 1, 2, 4, ... nodes to find where scaling stops, what grows, and
// which setting helps there. Driven by the bisect command.
#pragma once

#include "cli/command/arguments.hpp"
#include "cli/command/context.hpp"

namespace osora::cli {

/// Returns osora's exit code.
[[nodiscard]] int bisect_scaling(Context const& context, Arguments const& arguments);

}  // namespace osora::cli
