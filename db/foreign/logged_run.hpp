// A run that another program did and logged, as far as its log says, and the journal that such a
// run has in the history. Pure.
#pragma once

#include "protocol/journal/run_events.hpp"

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace osora::db {

/// Steps [first, last), which the log knows only together.
struct LoggedSteps {
    int first = 0, last = 0;
    double step_time_s = 0;      // mean
    double loss = std::nan("");  // NaN: not logged
    std::int64_t ended_us = 0;   // since 1970
};
struct LoggedEvaluation {
    int step = 0;  // training steps before it
    double loss = 0, seconds = 0;
    std::int64_t samples = 0, ended_us = 0;
};
/// What one node's ranks spent in collectives.
struct LoggedNode {
    std::string host;
    std::map<std::string, std::string> facts;
    std::vector<protocol::CollectiveSum> collectives;
};
struct LoggedRun {
    std::string kind;      // of the log: "mlperf", "nccl-inspector"
    std::string workload;  // name of the benchmark; series and model of the run
    std::string user;      // the submitter; "" : not logged
    int ranks_per_node = 1;
    int samples_per_step = 0;  // 0: not logged
    protocol::json::object settings;
    std::map<std::string, std::string> facts;  // software and hardware
    std::vector<LoggedNode> nodes;
    std::vector<LoggedSteps> steps;  // ascending, without gaps in between
    std::vector<LoggedEvaluation> evaluations;
    std::int64_t started_us = 0, ended_us = 0;
    protocol::RunEnded end;
    std::vector<std::string> remarks;  // what the import had to assume or leave out
};

/// Records of a journal. Each step has the mean of the steps that it was logged with. The name of
/// the run is WORKLOAD-YYYYMMDD-HHMMSS, of its start in UTC.
[[nodiscard]] std::vector<protocol::JournalRecord> records_of(LoggedRun const& run,
                                                              std::string const& uuid);

}  // namespace osora::db
