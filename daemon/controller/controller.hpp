// The shell around ControllerCore for one run: feeds it inputs, performs its actions, and records
// before it acts. Driven by one_run.
#pragma once

#include "base/env.hpp"
#include "base/log/log.hpp"
#include "daemon/backends/make_backend.hpp"
#include "daemon/controller/controller_core.hpp"
#include "daemon/journal/journal_file.hpp"
#include "daemon/metrics/metrics_server.hpp"
#include "daemon/notify/notify_setup.hpp"
#include "daemon/notify/series_verdict.hpp"
#include "protocol/run_directory.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace osora::daemon {

/// Ingests a run's journal into the history. Slow, and allowed to fail: called on a separate
/// thread.
using Ingest = std::function<Result<void>(protocol::RunPaths const&)>;

/// Asks the history after the run's end (daemon/notify/series_verdict.hpp).
using AskSeries = std::function<Result<std::optional<SlowerRun>>(
    protocol::RunPaths const&, std::string const& series, int number)>;

struct ControllerSetup {
    protocol::RunPaths paths;
    ControllerOptions core;
    std::vector<protocol::JournalRecord> replayed;
    std::unique_ptr<JournalFile> journal;
    BackendSetup backend;               // the controller's address is set later
    bool open_to_others = false;        // accept agents from other machines, whatever the backend
    int wanted_port = 0;                // for agents: where the last incarnation listened
    std::filesystem::path runtime_dir;  // for a control socket whose path would be too long
    int lifeline_fd = -1;               // readable end of a pipe; EOF: the attached osora has ended
    Ingest ingest;                      // may be empty
    NotifySetup notify;
    MetricsSetup metrics;
    AskSeries ask_series;                      // may be empty
    std::vector<protocol::RunNotice> notices;  // from before the start, for the journal
};

/// Runs until the run is over or stopped; returns osora's exit code. SIGTERM and SIGINT request a
/// stop, a second one stops at once. Errors: it could not start; then no agent was started. Call it
/// from the main thread.
[[nodiscard]] Result<int> run_controller(ControllerSetup setup, Env& env, Logger& log);

}  // namespace osora::daemon
