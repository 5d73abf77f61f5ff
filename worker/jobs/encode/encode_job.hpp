// run.job = "encode": caches the outputs of the autoencoder and the text encoder for every clip of
// a manifest (docs/rfc/022).
#pragma once

#include "worker/jobs/train_job.hpp"

namespace osora::worker {

/// Keeps complete shards of an earlier launch; the index appears when the shards of all ranks
/// exist. Errors: those of the manifest and the models; out_of_space, which keeps complete shards.
[[nodiscard]] Result<TrainOutcome> run_encode_job(plan::WorkerJob const& job,
                                                  RankEnvironment const& self, AgentLink& agent);

}  // namespace osora::worker
