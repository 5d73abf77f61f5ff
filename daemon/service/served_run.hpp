// One run of the daemon: finds or starts its controller, waits for its end, starts the next.
// Private to shells (Asio inside).
#pragma once

#include "base/env.hpp"
#include "base/environment.hpp"
#include "base/log/log.hpp"
#include "base/process/process.hpp"
#include "base/task_group.hpp"
#include "daemon/service/supervision.hpp"
#include "protocol/run_directory.hpp"

#include <boost/asio/awaitable.hpp>

#include <filesystem>
#include <string>

namespace osora::daemon {

struct ServedRunOptions {
    protocol::RunPaths paths;
    bool resume = false;           // for the first controller
    std::filesystem::path osorad;  // run as `osorad --one-run`
    Environment environment;       // where RUN_DIR/environment does not exist
};

class ServedRun {
public:
    ServedRun(ServedRunOptions options, Env& env, Logger& log);

    /// Returns when the run needs no controller any more, or was given up.
    [[nodiscard]] boost::asio::awaitable<void> run();

    [[nodiscard]] int controller_pid() const { return controller_.pid; }
    [[nodiscard]] int restarts() const { return restarts_; }

private:
    /// Waits for the end of the living controller, or of a new one.
    boost::asio::awaitable<ControllerEnd> watch();
    [[nodiscard]] Result<Child> start();
    [[nodiscard]] ProcessId living_controller() const;  // pid 0: none on this machine
    [[nodiscard]] Result<Environment> environment() const;
    void forget_environment() const;

    ServedRunOptions options_;
    Env& env_;
    Logger& log_;
    Supervision supervision_;
    ProcessId controller_;
    int restarts_ = 0;
};

}  // namespace osora::daemon
