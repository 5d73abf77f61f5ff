// The last steps of the escalation, from inside a job whose run has ended: a new job, a requeue, or
// nothing (slurm/escalation.hpp decides).
#pragma once

#include "base/env.hpp"
#include "base/environment.hpp"
#include "base/result.hpp"
#include "protocol/run_directory.hpp"
#include "slurm/escalation.hpp"

#include <string>
#include <string_view>

namespace osora::daemon {

/// Prefix of the text about a run that no job follows.
inline constexpr std::string_view kNoJobFollows = "stop: ";

struct NextJob {
    protocol::RunPaths paths;
    Environment environment;  // of this job
    slurm::JobWarning warning = slurm::JobWarning::none;
    int exit_code = 0;  // of the run
};
/// What was done and why: "stop: the run is done", "job 13 follows: the job's time is over".
[[nodiscard]] Result<std::string> escalate(NextJob const& next, Env const& env);

}  // namespace osora::daemon
