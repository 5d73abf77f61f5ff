// A run that starts when another one has succeeded (osora submit --after). Its job depends on that
// run's newest job; when a further job replaces that one, the dependency moves on. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace osora::slurm {

/// Arguments of sbatch for a job that waits for the job `after`, on the latter's `cluster` ("" =
/// the one that the command talks to). A job whose predecessor fails leaves the queue.
[[nodiscard]] std::vector<std::string> stage_arguments(std::int64_t after,
                                                       std::string const& cluster = "");

/// Arguments of scontrol for a waiting job; `cluster`: "" = the one that the command talks to.
[[nodiscard]] std::vector<std::string> move_stage_arguments(std::int64_t job, std::int64_t after,
                                                            std::string const& cluster = "");

}  // namespace osora::slurm
