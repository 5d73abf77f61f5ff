// `osorad batch RUN_DIR`: the batch step of a job. Starts the run's controller, restarts it when it
// dies, forwards Slurm's warnings to it, and decides what follows when it has ended.
#pragma once

#include "base/env.hpp"
#include "base/environment.hpp"
#include "base/log/log.hpp"
#include "base/result.hpp"
#include "protocol/run_directory.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::daemon {

struct BatchOptions {
    protocol::RunPaths paths;      // absolute
    std::filesystem::path osorad;  // this program
    Environment environment;       // without RUN_DIR/environment
};
/// The exit code of the job: the run's. Call it from the main thread.
[[nodiscard]] Result<int> run_batch(BatchOptions const& options, Env& env, Logger& log);

/// `osorad enter RUN_DIR COMMAND...`: becomes COMMAND in the environment that the run was submitted
/// with, overridden by what Slurm sets for this process. Returns only on failure.
[[nodiscard]] Error enter_environment(protocol::RunPaths const& paths,
                                      std::vector<std::string> const& command,
                                      Environment const& here);

}  // namespace osora::daemon
