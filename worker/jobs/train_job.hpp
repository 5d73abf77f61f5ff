// Jobs that train ("train", "train_vae", "train_vqvae"): combines data, model, ranks and
// checkpoints with the loop over steps. Driven by main; communicates only with the agent. Errors
// end the worker with exit_code_of(error).
#pragma once

#include "base/result.hpp"
#include "plan/worker_job.hpp"
#include "worker/jobs/agent_link.hpp"
#include "worker/jobs/rank_environment.hpp"

#include <string>

namespace osora::worker {

struct TrainOutcome {
    int steps = 0;         // of the run, all attempts together
    bool stopped = false;  // stopped by order, before the last step
    std::string failed_check = {};  // train.self_check found a difference: no step was done
};

[[nodiscard]] Result<TrainOutcome> run_train_job(plan::WorkerJob const& job,
                                                 RankEnvironment const& self, AgentLink& agent);

}  // namespace osora::worker
