// The run that another one waits for: osora submit --after RUN.
#pragma once

#include "cli/command/context.hpp"
#include "cli/run/runs.hpp"

#include <cstdint>
#include <string>

namespace osora::cli {

struct Predecessor {
    std::string run;       // its folder's name; "" = none is waited for
    std::int64_t job = 0;  // of Slurm; 0: the run has ended well already
    std::string cluster;   // of the job; "" = the one that the commands talk to
};

/// not_found: no such run. invalid_input: it has ended otherwise, or is no job of Slurm.
[[nodiscard]] Result<Predecessor> find_predecessor(std::filesystem::path const& state,
                                                   std::string const& wanted);

}  // namespace osora::cli
