// In what state a run is, as one word and a sentence. Pure: whether its controller lives and its
// folder exists is looked up by the caller.
#pragma once

#include "db/record/run_record.hpp"

#include <string>

namespace osora::db::analysis {

struct LivenessFacts {
    bool controller_alive = false;  // somebody holds the run's controller.lock
    bool folder_exists = true;
};

struct RunState {
    std::string word;   // "running", or the verdict: "ok", "oom", "controller_lost"...
    std::string cause;  // empty when all is well
    bool over = true;
    bool good = true;  // running, or ended ok
};

/// A run without an end whose controller is gone has the verdict controller_lost.
[[nodiscard]] RunState state_of(RunRecord const& run, LivenessFacts const& liveness);

}  // namespace osora::db::analysis
