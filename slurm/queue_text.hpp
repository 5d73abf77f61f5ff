// squeue's answer as text: one format string for every version. Pure.
#pragma once

#include "slurm/job.hpp"

#include "base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::slurm {

/// The arguments whose output parse_queue() reads: one call for all jobs of `user` (a uid or name),
/// ended ones included as long as Slurm remembers them; `cluster`: "" = the one that the command
/// talks to. Run it with TZ=UTC and SLURM_TIME_FORMAT=standard, and without SQUEUE_* variables.
[[nodiscard]] std::vector<std::string> squeue_arguments(std::string_view user,
                                                        std::string_view cluster = "");

/// Parses the lines of jobs; other lines (warnings, "CLUSTER: north") are left out. invalid_input:
/// there are lines, but none can be parsed.
[[nodiscard]] Result<std::vector<QueuedJob>> parse_queue(std::string_view output);

/// Whether squeue, which exits with 0 when slurmctld has not answered it, has printed no job but
/// something on stderr.
[[nodiscard]] bool is_no_answer(std::string_view output, std::string_view errors);

}  // namespace osora::slurm
