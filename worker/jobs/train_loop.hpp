// The loop over steps of one rank: batch, step, vote, metrics, checkpoint. Made and run by
// train_job; everything it needs is handed in.
#pragma once

#include "worker/jobs/agent_link.hpp"
#include "worker/jobs/evaluation.hpp"
#include "worker/jobs/pass_tuner.hpp"
#include "worker/jobs/rank_environment.hpp"
#include "worker/jobs/shortage_reporter.hpp"
#include "worker/jobs/step_source.hpp"
#include "worker/jobs/train_data.hpp"
#include "worker/jobs/train_job.hpp"
#include "worker/memory/cache_policy.hpp"
#include "worker/parallel/flight/flight_recorder.hpp"
#include "worker/parallel/retry_count.hpp"
#include "worker/parallel/stop_vote.hpp"
#include "worker/train/checkpoint_writer.hpp"
#include "worker/train/trainer.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace osora::worker {

class TrainLoop {
public:
    struct Parts {
        plan::WorkerJob const& job;
        RankEnvironment const& self;
        bool counts_samples;  // false: another rank trains on the same samples
        int dp_rank;          // whose samples it trains on
        TrainData const& data;
        AgentLink& agent;
        Trainer& trainer;
        StepSource& source;
        StopVote& vote;
        Device device;
        RetryCount& retries;               // of the run
        Evaluation* evaluation = nullptr;  // none: no clips are held out
        CheckpointPeers* peers = nullptr;  // ranks that write checkpoints together; none: rank 0
                                           // alone
        FlightRecorder* flight = nullptr;  // receives steps and phases
        PassTuner* tuner = nullptr;        // none: passes are as planned
    };
    explicit TrainLoop(Parts parts);

    /// Runs these steps, or until the ranks vote to stop. Writes a checkpoint after the last step
    /// of the run (config.train.steps), not after that of a stage. None after it: only evaluates.
    [[nodiscard]] Result<TrainOutcome> run(plan::StepSpan steps);

    /// After an error: waits for the save in progress as long as it writes. False: its disk takes
    /// nothing any more, and the destructor would wait for it.
    [[nodiscard]] bool ends_save();

private:
    struct Timed {
        StepOutput output;
        Vote vote = Vote::go_on;
        double data_wait_s = 0, arrival_s = 0, step_time_s = 0;
        std::string bucket;
        int samples = 0;
    };
    [[nodiscard]] Result<Timed> one_step(int step);
    [[nodiscard]] Result<StepOutput> train(StepBatch& batch, Timed& timed);
    [[nodiscard]] StepTerms terms_of(StepBatch const& batch) const;
    [[nodiscard]] SharedClips clips_of(StepBatch const& batch) const;
    void make_room(StepBatch const& batch);
    void empty_cache();
    void enter(protocol::Phase phase);
    [[nodiscard]] Result<void> count_skipped(int step, StepOutput const& output);
    void report(int step, Timed const& timed);
    void report_bad_clip(int step, BadClip const& bad);
    void report_checkpoint(std::optional<CheckpointWriter::Outcome> const& outcome);
    [[nodiscard]] Result<void> evaluate_if_due(int next_step);
    [[nodiscard]] bool writes() const { return parts_.self.rank == 0 || parts_.peers != nullptr; }
    void start_checkpoint(int next_step, protocol::Phase next);
    /// The outcome of the save in progress, if there is one; `next`: the phase after it.
    std::optional<CheckpointWriter::Outcome> finish_save(protocol::Phase next);
    void report_figures(int next_step);
    void checkpoint_if_due(int next_step);
    [[nodiscard]] Result<void> final_checkpoint(int next_step);
    [[nodiscard]] Result<void> finish_final(int next_step);
    [[nodiscard]] Result<void> end_run(int steps);
    [[nodiscard]] CheckpointState state_at(int next_step) const;

    Parts parts_;
    std::int64_t blocks_ = 0;  // of the network, if it has some
    TrainedOn trained_on_;     // for checkpoints
    ShortageReporter shortages_;
    CheckpointWriter writer_;
    CachePolicy cache_;
    protocol::Phase phase_ = protocol::Phase::loading;
    std::optional<std::chrono::steady_clock::time_point> first_step_;
    int skipped_in_a_row_ = 0;
};

}  // namespace osora::worker
