// The run that another one waits for: osora submit --after RUN.
#pragma once

#include "cli/command/context.hpp"
#include "cli/run/runs.hpp"

#include <cstdint>
#include <string>

namespace osora::cli {

struct Predecessor {
    std::string run;       // its folder's name; "" = no predecessor
    std::int64_t job = 0;  // Slurm's job id; 0: the run has already succeeded
    std::string cluster;   // cluster of the job; "" = the default cluster of Slurm's commands
};

/// not_found: no such run. invalid_input: it has failed, or is not a job of Slurm.
[[nodiscard]] Result<Predecessor> find_predecessor(std::filesystem::path const& state,
                                                   std::string const& wanted);

}  // namespace osora::cli
