// Rules of [slurm] beyond the range of a single key. Pure.
#pragma once

#include "plan/config/run_file.hpp"

namespace osora::plan {

/// Appends problems.
void check_slurm(ResolvedConfig& resolved);

/// Keys that have an effect with this backend and not with others: "resources.spares"...
[[nodiscard]] bool is_done_by_slurm(std::string_view section, std::string_view key);

}  // namespace osora::plan
