// One run of the daemon: finds or starts its controller, waits for its end, starts the next.
// Private to shells (Asio inside).
#pragma once

#include "base/env.hpp"
#include "base/environment.hpp"
#include "base/files/descriptor.hpp"
#include "base/log/log.hpp"
#include "base/process/process.hpp"
#include "base/task_group.hpp"
#include "daemon/service/supervision.hpp"
#include "protocol/run_directory.hpp"

#include <boost/asio/awaitable.hpp>

#include <filesystem>
#include <optional>
#include <string>

namespace osora::daemon {

struct ServedRunOptions {
    protocol::RunPaths paths;
    /// Of a run that ended and is to be reopened: how many controllers its journal showed when
    /// that was asked for. They start with --resume until the journal shows more.
    std::optional<int> reopen_after = std::nullopt;
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
    [[nodiscard]] std::optional<int> reopen_after() const { return options_.reopen_after; }

private:
    /// Waits for the end of the living controller, or of a new one.
    boost::asio::awaitable<ControllerEnd> watch();
    /// Open: the living controller, controller_. Waits while another process holds the run's lock:
    /// a controller writes controller.json only after it has measured links and read its journal.
    boost::asio::awaitable<Descriptor> find_controller();
    [[nodiscard]] Result<Child> start();
    [[nodiscard]] bool must_reopen();
    [[nodiscard]] ProcessId living_controller() const;  // pid 0: none on this machine
    /// Why a controller that exited like this did not control the run; empty: it did.
    [[nodiscard]] std::string why_not_started(ExitStatus const& status);
    [[nodiscard]] bool is_over();  // according to the journal, and not to be reopened
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
