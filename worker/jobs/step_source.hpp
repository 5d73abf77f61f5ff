// The source of a rank's steps: decoded clips, or latents from a cache. Driven by the training
// loop, in step order.
#pragma once

#include "worker/data/loader.hpp"
#include "worker/jobs/train_data.hpp"
#include "worker/train/trainer.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace osora::worker {

/// One step of this rank: for the trainer, and for the loop's reports.
struct StepBatch {
    StepInput input;                   // its pixels are `clips`'s
    std::string bucket;                // "64x64x8"
    std::int64_t predicted_bytes = 0;  // peak of a rank in this bucket, by the plan
    double data_wait_s = 0;            // how long next() waited for it
    std::vector<BadClip> bad;          // clips that were replaced
    std::optional<Batch> clips;        // owns the pixels; none with latents
};

class StepSource {
public:
    virtual ~StepSource() = default;
    /// Steps must be consecutive. Errors: those of the loader, or of a shard that cannot be read.
    [[nodiscard]] virtual Result<StepBatch> next(int step) = 0;
    /// No further step is made, nor may be asked for. False: a thread has not ended within this
    /// time, and the destructor would wait for it.
    [[nodiscard]] virtual bool stop(double limit_s) = 0;
    /// Of data.host_memory_gib, held as long as it lives.
    [[nodiscard]] virtual std::int64_t host_bytes() const { return 0; }
};

/// Which of the steps: a run's own, or those of an evaluation.
struct SourceSteps {
    int rank = 0, dp_size = 1;
    std::uint64_t start = 0, stop = 0;  // [start, stop)
    /// See LoaderOptions; for a cache it is called from another thread when a shard cannot be read.
    std::function<void(std::string const&)> on_slow_clip = {};
    bool waits = true;  // false: files that are away are an error at once
};

/// As configured in the job. `data` and `job` must outlive it.
[[nodiscard]] Result<std::unique_ptr<StepSource>> make_step_source(TrainData const& data,
                                                                   plan::WorkerJob const& job,
                                                                   SourceSteps const& steps);

}  // namespace osora::worker
