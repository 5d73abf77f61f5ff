// The part of a run file that decides what becomes of its clips.
#pragma once

#include "cli/command/arguments.hpp"
#include "plan/config/config_files.hpp"

namespace osora::cli {

/// The configuration of the run, or of the [[stage]] of --stage.
[[nodiscard]] Result<plan::RunConfig> config_of_stage(plan::ResolvedConfig const& resolved,
                                                      Arguments const& arguments);

/// Errors: invalid_input for a run that puts no clips of a list into buckets.
[[nodiscard]] Result<void> check_reads_clips(plan::RunConfig const& config);

}  // namespace osora::cli
