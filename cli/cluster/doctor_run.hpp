// What a run's folder tells the doctor: journal (facts of nodes and ranks, health, where the step's
// time goes), resolved run file, and NCCL's lines in the logs of the ranks.
#pragma once

#include "base/result.hpp"
#include "cli/run/runs.hpp"
#include "topology/doctor/evidence.hpp"

namespace osora::cli {

/// Adds to nodes of the same name in `evidence`, and makes those that are not in it. not_found: the
/// run has no journal yet.
[[nodiscard]] Result<void> add_run_evidence(RunFolder const& run,
                                            topology::doctor::Evidence& evidence);

}  // namespace osora::cli
