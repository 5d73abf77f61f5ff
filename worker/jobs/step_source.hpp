// Where a rank's steps come from: clips that are decoded, or latents of a cache. Driven by the
// training loop, one step after the other.
#pragma once

#include "worker/data/loader.hpp"
#include "worker/jobs/train_data.hpp"
#include "worker/train/trainer.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace osora::worker {

/// One step of this rank: for the trainer, and for the loop to tell of.
struct StepBatch {
    StepInput input;                   // its pixels are `clips`'s
    std::string bucket;                // "64x64x8"
    std::int64_t predicted_bytes = 0;  // peak of a rank in this bucket, by the plan
    double data_wait_s = 0;            // how long next() blocked
    std::vector<BadClip> bad;          // clips that something else stands in for
    std::optional<Batch> clips;        // keeps the pixels
};

class StepSource {
public:
    virtual ~StepSource() = default;
    /// Steps come one by one. Errors: those of the loader, or of a shard that does not read.
    [[nodiscard]] virtual Result<StepBatch> next(int step) = 0;
};

/// Which of the steps: a run's own, or those of an evaluation.
struct SourceSteps {
    int rank = 0, dp_size = 1;
    std::uint64_t start = 0, stop = 0;  // [start, stop)
};

/// As the job says. `data` and `job` must outlive it.
[[nodiscard]] Result<std::unique_ptr<StepSource>> make_step_source(TrainData const& data,
                                                                   plan::WorkerJob const& job,
                                                                   SourceSteps const& steps);

}  // namespace osora::worker
