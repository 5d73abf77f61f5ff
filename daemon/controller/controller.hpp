// The shell around ControllerCore for one run: feeds it what happens, carries out what it decides,
// records before actions. Driven by one_run.
#pragma once

#include "base/env.hpp"
#include "base/log/log.hpp"
#include "daemon/backends/make_backend.hpp"
#include "daemon/controller/controller_core.hpp"
#include "daemon/journal/journal_file.hpp"
#include "protocol/run_directory.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace osora::daemon {

/// Takes a run's journal into the history. Slow and allowed to fail: called on a thread of its own.
using Ingest = std::function<Result<void>(protocol::RunPaths const&)>;

struct ControllerSetup {
    protocol::RunPaths paths;
    ControllerOptions core;
    std::vector<protocol::JournalRecord> replayed;
    std::unique_ptr<JournalFile> journal;
    BackendSetup backend;                      // the controller's address is filled in
    bool open_to_others = false;               // let agents elsewhere in, whatever the backend
    int wanted_port = 0;                       // for agents: where the last life listened
    std::filesystem::path runtime_dir;         // for a control socket whose path would be too long
    int lifeline_fd = -1;                      // readable end; EOF: the attached osora is gone
    Ingest ingest;                             // may be empty
    std::vector<protocol::RunNotice> notices;  // of the start, for the journal
};

/// Runs until the run is over or stopped; returns osora's exit code. SIGTERM and SIGINT ask for a
/// stop, a second one stops now. Errors: it could not start; no agent was started then. Call it
/// from the main thread.
[[nodiscard]] Result<int> run_controller(ControllerSetup setup, Env& env, Logger& log);

}  // namespace osora::daemon
