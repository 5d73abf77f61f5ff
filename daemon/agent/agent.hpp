// `osorad agent`: the shell around AgentCore. Keeps a connection to the controller, owns the node's
// workers and the store port; decides nothing itself. Ends when the core says so.
#pragma once

#include "base/env.hpp"
#include "base/environment.hpp"
#include "base/log/log.hpp"
#include "daemon/agent/agent_start.hpp"

#include <filesystem>

namespace osora::daemon {

struct AgentSetup {
    AgentStart start;
    std::filesystem::path worker_program;
    Environment environment;               // inherited by the workers
    std::filesystem::path profile_folder;  // for the node profile; "" or missing: none
};

/// Runs until the run is over, the controller has been silent for the lease, or a signal arrives;
/// returns the exit code. SIGTERM and SIGINT: workers save a checkpoint and stop; a second signal
/// stops them at once. In a scheduler's job the signals become a stop request to the controller.
/// Call it from the main thread.
int run_agent(AgentSetup setup, Env& env, Logger& log);

}  // namespace osora::daemon
