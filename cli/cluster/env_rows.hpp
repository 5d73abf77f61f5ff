// Variables of NCCL and Gloo as ranks get or got them, each with its origin. Pure.
#pragma once

#include "plan/worker_job.hpp"
#include "protocol/journal/run_events.hpp"

#include <map>
#include <string>
#include <vector>

namespace osora::cli {

struct EnvRow {
    std::string name, value;
    std::string cls;     // "J", "P", "S", "B"; "" = not known
    std::string origin;  // "probe", "run file: r.toml:4", "osora", "inherited on the node"
    std::string reason;
    std::vector<std::string> nodes;  // empty = all
    std::string ranks = {};          // of a run: "0-7"; "" before it has started
    std::string ordered = {};        // of a run: the planned value, if it is not `value`
};

/// Variables that osora's launch sets for diagnosing hangs, unless they are set already
/// (daemon/agent/worker_setup).
void add_flight_recorder(std::vector<EnvRow>& rows);

/// What the ranks of a run reported after their start. `hosts`: by node number. Rows with an
/// `ordered` value first, then by name; a planned variable that a rank did not see has the value
/// "".
[[nodiscard]] std::vector<EnvRow> effective_rows(plan::WorkerJob const& job,
                                                 std::map<int, std::string> const& hosts,
                                                 std::map<int, protocol::RankStarted> const& ranks);

/// {0, 1, 2, 5} -> "0-2,5".
[[nodiscard]] std::string folded_ranks(std::vector<int> const& ranks);

}  // namespace osora::cli
