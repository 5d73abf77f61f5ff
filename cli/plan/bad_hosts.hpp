// Hosts of [ssh] that failed runs lately (osora nodes), for all commands that plan a run.
#pragma once

#include "cli/command/context.hpp"
#include "plan/config/run_config.hpp"

#include <string>

namespace osora::cli {

/// Moves the hosts that the state folder remembers as bad behind the others; the note about them,
/// "" if there are none.
[[nodiscard]] std::string place_bad_hosts(Context const& context, plan::RunConfig& config);

}  // namespace osora::cli
