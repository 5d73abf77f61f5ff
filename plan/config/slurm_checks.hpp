// Rules of [slurm] that one key's own range cannot say. Pure.
#pragma once

#include "plan/config/run_file.hpp"

namespace osora::plan {

/// Appends problems.
void check_slurm(ResolvedConfig& resolved);

/// Keys that this backend acts on while others do not: "resources.spares"...
[[nodiscard]] bool is_done_by_slurm(std::string_view section, std::string_view key);

}  // namespace osora::plan
