// What a run did between its steps, in order, with the times of its journal's records: how long a
// launch takes, and the time lost to checkpoints and faults. Pure.
#pragma once

#include "db/record/run_record.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace osora::db::analysis {

/// From `from_us` until `to_us`, which is no earlier; clocks may jump, and what would end before it
/// began is left out.
///   queue       the run was submitted until its controller began, or the probe before it
///   probe       links were measured before the run, by a separate run in the same allocation
///   agents      the controller began until the last agent of the first launch was there
///   start       ranks were ordered until all had said that they are ready to train: processes,
///               rendezvous, model, data, the checkpoint to continue from
///   first_step  all were ready until the first step was in the journal
///   checkpoint  as the rank that wrote it took the time
///   relaunch    a fault was seen until the ranks of the next launch were ready
///   end         the last step was in the journal until the run had ended
struct RunSpan {
    std::string name;
    std::int64_t from_us = 0, to_us = 0;
    int attempt = -1, step = -1;  // -1: not applicable
};

/// When the steps of a launch were journaled; 0: there were none, or it is unknown.
struct LaunchTimes {
    int attempt = 0;
    std::int64_t first_step_us = 0, last_step_us = 0;
};

/// Ordered by start. `launches` in the order of their attempts.
[[nodiscard]] std::vector<RunSpan> run_spans(std::vector<EventRecord> const& events,
                                             std::vector<LaunchTimes> const& launches);

}  // namespace osora::db::analysis
