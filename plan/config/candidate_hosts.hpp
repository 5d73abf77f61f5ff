// Which machines a run may get, as far as that is known before it starts. Pure.
#pragma once

#include "base/environment.hpp"
#include "plan/config/run_config.hpp"

#include <string>
#include <vector>

namespace osora::plan {

/// Those of [ssh], or of the Slurm job whose variables `environment` has, without
/// faults.exclude_nodes, as many as nodes and spares. Empty: not known.
[[nodiscard]] std::vector<std::string> candidate_hosts(RunConfig const& config,
                                                       Environment const& environment);

}  // namespace osora::plan
