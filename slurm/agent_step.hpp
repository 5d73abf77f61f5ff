// The srun command that starts agents inside an allocation, and which variables its environment
// must not contain. Pure.
#pragma once

#include "base/environment.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::slurm {

struct AgentStep {
    std::string job_id;
    std::vector<std::string> hosts;  // one agent on each
    std::filesystem::path osorad, run_dir;
    std::string container;  // "" = none; a .sif file: apptainer; else a pyxis image
    std::string log_name;  // in the run directory: "agent-%n.log", where %n counts the step's nodes
};

/// argv[1...] of srun. The step shares its nodes with others, binds nothing, survives the end of
/// tasks and nodes, and passes srun's own environment on unchanged.
[[nodiscard]] std::vector<std::string> srun_arguments(AgentStep const& step);

/// argv[1...] of srun for a short program on one host of the job.
[[nodiscard]] std::vector<std::string> remote_command_arguments(
    std::string const& job_id, std::string const& host, std::vector<std::string> const& command);

/// Removes the variables of the job's own shape that srun would apply to the step.
void remove_step_shape(Environment& environment);

}  // namespace osora::slurm
