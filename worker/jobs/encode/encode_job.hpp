// run.job = "encode": caches what the autoencoder and the text encoder give for every clip of a
// manifest (docs/rfc/022).
#pragma once

#include "worker/jobs/train_job.hpp"

namespace osora::worker {

/// Complete shards of an earlier launch stay; the index appears when the shards of all ranks are
/// there. Errors: those of the manifest and the models; out_of_space with what is complete kept.
[[nodiscard]] Result<TrainOutcome> run_encode_job(plan::WorkerJob const& job,
                                                  RankEnvironment const& self, AgentLink& agent);

}  // namespace osora::worker
