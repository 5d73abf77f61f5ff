// The machines that a run may get, as far as known before it starts. Pure.
#pragma once

#include "base/environment.hpp"
#include "plan/config/run_config.hpp"

#include <string>
#include <vector>

namespace osora::plan {

/// The hosts of [ssh], or of the Slurm job in the variables of `environment`, without
/// faults.exclude_nodes, as many as nodes and spares. Empty: unknown.
[[nodiscard]] std::vector<std::string> candidate_hosts(RunConfig const& config,
                                                       Environment const& environment);

/// Moves the hosts of ssh.hosts that are in `bad` (protocol::bad_hosts()) behind the others, so
/// that a run gets them only when it has no others, and returns a note that names them. Otherwise,
/// and for other backends, changes nothing and returns "".
[[nodiscard]] std::string use_bad_hosts_last(RunConfig& config,
                                             std::vector<std::string> const& bad);

}  // namespace osora::plan
