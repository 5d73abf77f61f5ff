// squeue's answer as text: one format string for every version. Pure.
#pragma once

#include "slurm/job.hpp"

#include "base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::slurm {

/// The arguments that parse_queue() reads the output of: one call for all jobs of `user` (a uid or
/// name), ended ones included as long as Slurm remembers them. Run it with TZ=UTC and
/// SLURM_TIME_FORMAT=standard, and without SQUEUE_* variables.
[[nodiscard]] std::vector<std::string> squeue_arguments(std::string_view user);

/// Lines of the job's own fields; lines that are something else (warnings) are left out.
/// invalid_input: there are lines and not one of them reads.
[[nodiscard]] Result<std::vector<QueuedJob>> parse_queue(std::string_view output);

}  // namespace osora::slurm
