// The network of a checkpoint for `osora sample`, with its adapters added.
#pragma once

#include "base/result.hpp"
#include "plan/worker_job.hpp"
#include "worker/jobs/sample/sample_request.hpp"
#include "worker/train/checkpoint.hpp"

#include <filesystem>

namespace osora::worker {

/// For a checkpoint with only adapters: the weights that they were trained on (request.weights,
/// else model.init and the seed of the run's `job`) with the adapters added in fp32. `run` is the
/// folder of the run, empty if there is none. Errors as load_checkpoint(), those of the weights,
/// and invalid_input if the adapters' base is unknown.
[[nodiscard]] Result<CheckpointWeights> sample_weights(std::filesystem::path const& checkpoint,
                                                       std::filesystem::path const& run,
                                                       plan::WorkerJob const& job,
                                                       SampleRequest const& request);

}  // namespace osora::worker
