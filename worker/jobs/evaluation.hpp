// The loss on held-out clips: the same clips, windows, times and noise each time, so that two
// values differ only by the weights. Driven by the training loop.
#pragma once

#include "worker/jobs/job_parts.hpp"
#include "worker/jobs/step_source.hpp"
#include "worker/jobs/train_data.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/train/trainer.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace osora::worker {

class Evaluation {
public:
    struct Outcome {
        double loss = 0;           // mean over the samples of all ranks
        std::int64_t samples = 0;  // of all ranks
        double seconds = 0;
        int left_out = 0;  // ranks that left it out, and so no loss: no memory for one clip, clips
                           // that cannot be read, or they are to stop
        std::string why;   // one of the first two, on this rank; once for each bucket, or clips
    };
    struct Calls {
        std::function<void()> progress = [] {};  // before each micro-batch
        std::function<void()> on_lack = {};      // as in StepInput
        /// Whether to leave out the rest: asked before each micro-batch; ranks that meet in a pass
        /// leave out the same.
        std::function<bool()> stops = [] { return false; };
        std::function<void(std::string const&)> on_slow_clip = {};  // see LoaderOptions
        std::function<void(BadClip const&)> on_bad_clip = [](BadClip const&) {};  // once each
    };

    /// See open().
    Evaluation(plan::WorkerJob job, TrainRanks ranks)
        : job_(std::move(job)), ranks_(std::move(ranks)) {}

    /// nullptr if data.eval_manifest is empty. `held_bytes`: of this rank's part of
    /// data.host_memory_gib, by the training. Errors are those of open_train_data(), and
    /// out_of_memory if the rest is too little for a loader of one clip a step.
    [[nodiscard]] static Result<std::unique_ptr<Evaluation>> open(
        plan::WorkerJob const& job, TrainRanks ranks, std::int64_t held_bytes,
        CrashedClips const& crashed, std::function<void()> const& sign);

    /// All ranks call it after the same step; each evaluates a share of the samples. Evaluates the
    /// live weights, like the training loss. What does not fit into memory runs in smaller passes.
    /// What cannot be read is left out: waited for once, then tried until a read succeeds.
    /// out_of_memory: of ranks that meet in a pass; else the outcome says so.
    [[nodiscard]] Result<Outcome> run(Trainer& trainer, Calls const& calls);

    /// After an error of run(): as StepSource::stop().
    [[nodiscard]] bool stop(double limit_s);

    /// The held-out clips, and the job as if they were its own.
    [[nodiscard]] TrainData const& data() const { return *data_; }
    [[nodiscard]] plan::WorkerJob const& job() const { return job_; }

    /// Whether an evaluation is due before `next_step` is trained.
    [[nodiscard]] bool is_due(int next_step) const;

private:
    struct Sums {
        double loss = 0, samples = 0;
        double left_out = 0;  // ranks
    };
    [[nodiscard]] Result<Sums> own_sums(Trainer& trainer, Calls const& calls, std::string& why);
    [[nodiscard]] std::string once(std::string const& kind, std::string text);
    [[nodiscard]] Result<Sums> over_ranks(Sums own) const;

    plan::WorkerJob job_;  // with the held-out clips instead of the others
    TrainRanks ranks_;
    std::unique_ptr<TrainData> data_;  // its schedule has this rank's steps
    std::uint64_t steps_ = 0;
    std::uint64_t counted_ = 0;           // the first of them; others only keep peers company
    std::unique_ptr<StepSource> source_;  // while it runs, and after an error
    bool away_ = false;                   // the last try to read clips failed
    std::set<std::string> reported_;      // bad clips and what is wrong with them, kinds of `why`
};

}  // namespace osora::worker
