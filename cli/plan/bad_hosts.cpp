#include "cli/plan/bad_hosts.hpp"

#include "base/env.hpp"
#include "cli/command/state_folder.hpp"
#include "plan/config/candidate_hosts.hpp"
#include "protocol/node_memory_file.hpp"
#include "protocol/state_paths.hpp"

namespace osora::cli {

std::string place_bad_hosts(Context const& context, plan::RunConfig& config) {
    auto const state = state_dir(context.environment);
    if (state.has_error()) return "";
    auto const bad =
        protocol::remembered_bad_hosts(protocol::StatePaths{*state}, RealEnv().wall_us());
    return plan::use_bad_hosts_last(config, bad);
}

}  // namespace osora::cli
