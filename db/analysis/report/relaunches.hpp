// The relaunches of a run, from its events, folded as the controller does it
// (protocol/run_status.hpp). Pure.
#pragma once

#include "db/record/run_record.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace osora::db::analysis {

struct Relaunch {
    int attempt = 0;
    int start_step = 0;        // the step at which it continued
    std::string cause;         // "rank 1 on node 0 was killed by signal 9"
    double down_s = kUnknown;  // from the fault until every rank was back; clocks may jump
    bool asked = false;        // by a user: it does not count against faults.max_restarts
    std::int64_t back_us = 0;  // when every rank was back; end of down_s
};

[[nodiscard]] std::vector<Relaunch> relaunches_of(std::vector<EventRecord> const& events);

}  // namespace osora::db::analysis
