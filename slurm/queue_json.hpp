// squeue --json and scontrol show job --json of 20.11 to 25.x, whose schema moves with every
// release: what is a number in one is {"set": true, "number": 5} in the next. Pure.
#pragma once

#include "slurm/job.hpp"

#include "base/result.hpp"

#include <string_view>
#include <vector>

namespace osora::slurm {

/// Jobs without an id are left out; a field of an unforeseen shape counts as missing.
/// invalid_input: no JSON, or no "jobs" in it.
[[nodiscard]] Result<std::vector<QueuedJob>> parse_queue_json(std::string_view text);

}  // namespace osora::slurm
