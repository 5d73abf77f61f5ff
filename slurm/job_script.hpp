// RUN_DIR/job.sh, the script that sbatch gets: `osora submit --dry-run` prints exactly this. It
// contains no value of the environment and no secret; those are in files next to it. Pure.
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
    std::vector<std::string> exclude_nodes;  // those of the run file and those that failed recently
};

/// invalid_input: a value that an #SBATCH line cannot contain.
[[nodiscard]] Result<std::string> job_script(JobRequest const& request);

/// How long before the time limit Slurm warns the job, so that it saves a checkpoint: a tenth of
/// the limit, between one and ten minutes; Slurm itself is up to a minute late. `time_limit` "":
/// five minutes.
[[nodiscard]] int warning_s(std::string const& time_limit);

/// GPU hours of the job, over all nodes; 0 without a time limit.
[[nodiscard]] double gpu_hours(plan::ResourcesSection const& resources);

}  // namespace osora::slurm
