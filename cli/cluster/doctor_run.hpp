// What a run's folder contributes to osora doctor: journal (facts of nodes and ranks, health, parts
// of the step time), resolved run file, and NCCL's lines in the ranks' logs.
#pragma once

#include "base/result.hpp"
#include "cli/run/runs.hpp"
#include "topology/doctor/evidence.hpp"

namespace osora::cli {

/// Adds to nodes of the same name in `evidence`, and adds the nodes that are missing there.
/// not_found: the run has no journal yet.
[[nodiscard]] Result<void> add_run_evidence(RunFolder const& run,
                                            topology::doctor::Evidence& evidence);

}  // namespace osora::cli
