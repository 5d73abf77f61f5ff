// `osorad --one-run RUN_DIR`: takes the run's lock, replays its journal, runs its controller. The
// same command goes on with a run whose controller was killed.
#pragma once

#include "base/env.hpp"
#include "base/environment.hpp"
#include "base/log/log.hpp"
#include "daemon/controller/controller.hpp"

#include <filesystem>

namespace osora::daemon {

struct OneRunOptions {
    protocol::RunPaths paths;  // absolute
    int lifeline_fd = -1;
    double lifeline_limit_s = 8;           // of the graceful stop that its end asks for
    bool resume = false;                   // open a run again that has ended, but not well
    bool supervised = false;               // started again when it dies: agents wait for it
    bool open_to_others = false;           // ControllerSetup
    std::filesystem::path osorad;          // this program, to run agents
    std::filesystem::path worker_program;  // absolute
    Environment environment;
    Ingest ingest;
};

/// osora's exit code. Errors: the run could not be taken up (busy: it has a controller already).
[[nodiscard]] Result<int> run_one(OneRunOptions options, Env& env, Logger& log);

}  // namespace osora::daemon
