// `osorad --one-run RUN_DIR`: takes the run's lock, replays its journal, runs its controller. The
// same command continues a run whose controller was killed.
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
    double lifeline_limit_s = 8;           // for the graceful stop that EOF on lifeline_fd requests
    bool resume = false;                   // reopen a run that ended without success
    bool supervised = false;               // restarted when it dies: agents wait for it
    bool open_to_others = false;           // ControllerSetup
    std::filesystem::path osorad;          // this program, to run agents
    std::filesystem::path worker_program;  // absolute
    Environment environment;
    Ingest ingest;
    AskSeries ask_series;
    bool notify = true;   // send the messages of [notify]
    bool metrics = true;  // serve those of [daemon]
};

/// osora's exit code. Errors: the run could not be loaded (busy: it already has a controller).
[[nodiscard]] Result<int> run_one(OneRunOptions options, Env& env, Logger& log);

}  // namespace osora::daemon
