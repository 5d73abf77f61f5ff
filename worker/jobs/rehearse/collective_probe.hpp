// job = "probe": times collectives over the world and over groups of it, with Gloo or NCCL. Every
// rank takes part; rank 0 writes RUN_DIR/probe.json. Driven by main.
#pragma once

#include "base/result.hpp"
#include "topology/probe_result.hpp"
#include "worker/jobs/agent_link.hpp"
#include "worker/jobs/rank_environment.hpp"
#include "worker/jobs/train_job.hpp"
#include "worker/parallel/process_group.hpp"

#include <functional>

namespace osora::worker {

/// Call it on every rank of `group`; rank 0's result is complete, the others' is empty. Ranks are
/// on nodes in blocks of `ranks_per_node`. Once `stopped` returns true on any rank, the result is
/// what was measured. invalid_input: see check_collective_request; unreachable: a peer is gone.
[[nodiscard]] Result<topology::CollectiveTimes> probe_collectives(
    plan::CollectiveRequest const& request, Group const& group, Device const& device,
    int ranks_per_node, std::function<bool()> stopped);

[[nodiscard]] Result<TrainOutcome> run_collective_probe(plan::WorkerJob const& job,
                                                        RankEnvironment const& self,
                                                        AgentLink& agent);

}  // namespace osora::worker
