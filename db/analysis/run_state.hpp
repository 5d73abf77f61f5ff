// The state of a run, as one word and a sentence. Pure: the caller looks up whether its controller
// lives and its folder exists.
#pragma once

#include "db/record/run_record.hpp"

#include <string>

namespace osora::db::analysis {

struct LivenessFacts {
    bool controller_alive = false;  // a process holds the run's controller.lock
    bool folder_exists = true;
};

struct RunState {
    std::string word;   // "running", or the verdict: "ok", "oom", "controller_lost"...
    std::string cause;  // empty if there is no problem
    bool over = true;
    bool good = true;  // running, or ended ok
    /// As osora status says it: running, done, stopped, failed; lost: the controller is gone.
    std::string status = "running";
};

/// "done", "stopped" or "failed".
[[nodiscard]] std::string ended_word(protocol::Verdict verdict);

/// A run without a recorded end whose controller is gone has the verdict controller_lost.
[[nodiscard]] RunState state_of(RunRecord const& run, LivenessFacts const& liveness);

}  // namespace osora::db::analysis
