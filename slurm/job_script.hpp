// RUN_DIR/job.sh, the script that is given to sbatch: `osora submit --dry-run` prints exactly this.
// It holds no value of the environment and no secret; those wait in files beside it. Pure.
#pragma once

#include "base/result.hpp"
#include "plan/config/run_config.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::slurm {

struct JobRequest {
    std::string name;               // of the job: the run directory's
    std::filesystem::path run_dir;  // absolute; seen by every node
    std::filesystem::path osorad;   // absolute; seen by every node
    plan::ResourcesSection resources;
    plan::SlurmSection slurm;
    std::vector<std::string> exclude_nodes;  // the run file's and those that failed lately
};

/// invalid_input: a value that no #SBATCH line can hold.
[[nodiscard]] Result<std::string> job_script(JobRequest const& request);

/// How long before the time limit the job is warned, to save a checkpoint: a tenth of the limit
/// between one and ten minutes; Slurm itself is up to a minute late. `time_limit` "": five minutes.
[[nodiscard]] int warning_s(std::string const& time_limit);

/// Of the job, over all nodes; 0 when there is no time limit to multiply with.
[[nodiscard]] double gpu_hours(plan::ResourcesSection const& resources);

}  // namespace osora::slurm
