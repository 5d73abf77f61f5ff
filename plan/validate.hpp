// All problems of a resolved run file on a machine. Pure; the run file's reader has already checked
// types, names, ranges, and jobs that this version does not support.
#pragma once

#include "base/result.hpp"
#include "plan/config/run_config.hpp"
#include "topology/cluster.hpp"

#include <string>
#include <vector>

namespace osora::plan {

struct ConfigViolation {
    std::string key;      // "parallel.tp_size", "bucket[1].micro_batch_size"; look it up in Origins
    std::string message;  // printed after "KEY = VALUE: ": "does not divide 16 heads; nearest
                          // valid: 4, 8"
    Errc code = Errc::invalid_input;
};

/// In the order of the run file's sections; empty if the run can be planned.
[[nodiscard]] std::vector<ConfigViolation> config_violations(RunConfig const& config,
                                                             topology::Cluster const& cluster);

}  // namespace osora::plan
