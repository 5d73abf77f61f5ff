// osora bisect --scaling: the same run at 1, 2, 4, ... nodes, where it stops to scale, what grows,
// and which setting helps there. Driven by the bisect command.
#pragma once

#include "cli/command/arguments.hpp"
#include "cli/command/context.hpp"

namespace osora::cli {

/// osora's exit code.
[[nodiscard]] int bisect_scaling(Context const& context, Arguments const& arguments);

}  // namespace osora::cli
