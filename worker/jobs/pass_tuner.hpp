// [tune] progressive in a run: gives each step the setting of its passes, times it, and agrees with
// the other ranks on what stays (plan/tune/pass_tuning). Driven by the training loop.
#pragma once

#include "base/result.hpp"
#include "plan/tune/pass_tuning.hpp"
#include "plan/worker_job.hpp"
#include "worker/jobs/agent_link.hpp"
#include "worker/jobs/step_source.hpp"
#include "worker/jobs/train_data.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/train/trainer.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace osora::worker {

class PassTuner {
public:
    struct Parts {
        plan::WorkerJob const& job;
        std::optional<Group> const& group;
        int rank = 0;
        Device device;
        AgentLink& agent;
        std::filesystem::path file;  // what was found, for the next attempt
    };
    explicit PassTuner(Parts const& parts);
    /// Null without [tune] progressive. Every rank calls it: what an earlier attempt found is read
    /// by rank 0.
    [[nodiscard]] static Result<std::unique_ptr<PassTuner>> open(Parts const& parts,
                                                                 TrainData const& data);

    /// Before the passes of a step.
    void prepare(StepBatch& batch);
    /// Passes did not fit. Whether that is dealt with: the step goes back to what fitted before.
    [[nodiscard]] bool on_shortage(StepBatch const& batch, MemoryShortage const& shortage);
    /// After a step that took `seconds` without waiting for data. unreachable: a peer is gone.
    [[nodiscard]] Result<void> finish(StepBatch const& batch, StepOutput const& output,
                                      double seconds);

private:
    struct Bucket {
        plan::PassTuning tuning;
        plan::PassSetting planned;
        std::int64_t samples = 0;  // of a rank in a step
    };
    [[nodiscard]] Bucket bucket_of(TrainData const& data, std::size_t index) const;
    [[nodiscard]] std::vector<double> read_earlier() const;
    [[nodiscard]] Result<void> use_earlier();
    [[nodiscard]] PassChoice choice(Bucket const& bucket, plan::PassSetting const& setting) const;
    void report(int step, std::string const& name, plan::PassChange const& change);
    void save();

    Parts parts_;
    plan::RecomputeChoice planned_recompute_;
    std::int64_t blocks_ = 0;                // of the network
    std::map<std::string, Bucket> buckets_;  // by name, the same on every rank
    double resident_bytes_ = 0;              // of tensors, before the passes of this step
    bool counts_ = true;                     // this step ran as prepared
};

}  // namespace osora::worker
