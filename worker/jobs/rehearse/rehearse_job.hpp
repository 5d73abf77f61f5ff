// job = "rehearse": a run's collectives with its sizes, order and overlap, without its model.
// Driven by main; communicates only with the agent, with the messages of training, so that reports
// treat both alike.
#pragma once

#include "worker/jobs/agent_link.hpp"
#include "worker/jobs/rank_environment.hpp"
#include "worker/jobs/train_job.hpp"

namespace osora::worker {

/// Needs memory only for the gradients. A relaunch begins again at step 0; there are no
/// checkpoints. Errors as run_train_job; loss, gradient norm and lr of a step are NaN.
[[nodiscard]] Result<TrainOutcome> run_rehearse_job(plan::WorkerJob const& job,
                                                    RankEnvironment const& self, AgentLink& agent);

}  // namespace osora::worker
