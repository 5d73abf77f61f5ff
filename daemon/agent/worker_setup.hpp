// What a worker process is started with: program, arguments, environment, folder. Pure except for
// the search of a program in PATH. Everything travels as exact bytes; no shell is involved.
#pragma once

#include "base/environment.hpp"
#include "base/result.hpp"
#include "plan/worker_job.hpp"
#include "protocol/messages/agent_messages.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::daemon {

struct WorkerPlace {
    protocol::LaunchWorkers launch;
    int local_rank = 0;
    int agent_fd = -1;  // numbers in the child; -1: none
    int store_fd = -1;
    int step_fd = -1;
    std::vector<int> cpus = {};  // to run on; empty: any
    std::string host = {};       // name of the node, for settings that differ between nodes
};

struct WorkerSetup {
    std::filesystem::path program;
    std::vector<std::string> arguments;
    Environment environment;
    std::filesystem::path working_directory;
};

/// `inherited`: the agent's own environment. Precedence, later ones win: inherited < the plan's
/// NCCL settings for this node < [worker] env < what osora itself sets (RANK, MASTER_ADDR...).
/// OMP_NUM_THREADS comes from the plan unless the user has set it. not_found: the `exec` command is
/// not in PATH.
[[nodiscard]] Result<WorkerSetup> set_up_worker(plan::WorkerJob const& job,
                                                WorkerPlace const& place,
                                                std::filesystem::path const& worker_program,
                                                Environment inherited);

}  // namespace osora::daemon
