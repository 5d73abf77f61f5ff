// A network without computing: its passes launch what those of training launch, on the meta device,
// and take the time that they are given. What drives a training's collectives (gates of units,
// hooks of gradients, exchanges inside the layers) sees what it sees in training.
#pragma once

#include "base/result.hpp"
#include "plan/worker_job.hpp"
#include "worker/jobs/rehearse/launched_flops.hpp"
#include "worker/jobs/rehearse/rehearsed_model.hpp"
#include "worker/jobs/rehearse/rehearsed_ranks.hpp"
#include "worker/model/unit_gate.hpp"
#include "worker/parallel/device.hpp"
#include "worker/parallel/rank_groups.hpp"

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace osora::worker {

/// Own work of a rank takes wall time, not CPU time: a measured length already holds what the rank
/// lost to Gloo's threads and to its neighbours, and would lose it a second time. It still spins,
/// so that collectives must share the cores with it as they do with a model.
struct OwnWork {
    /// That it keeps busy; 0: it sleeps, as a GPU's leaves the CPU idle.
    int threads = 1;
    void until(std::chrono::steady_clock::time_point deadline) const;
};

class RehearsedNetwork final : public UnitGate {
public:
    /// What the job trains, in its precision: this rank's slices and blocks, its trained tensors
    /// with memory for weights and gradients. Time within a pass passes as its matrix products are
    /// launched, the recomputed ones too. invalid_input: a job that has no such network.
    [[nodiscard]] static Result<std::unique_ptr<RehearsedNetwork>> make(plan::WorkerJob const& job,
                                                                        RankGroups const& groups,
                                                                        OwnWork const& work,
                                                                        Device const& device);
    /// For make().
    RehearsedNetwork(plan::WorkerJob const& job, RankGroups const& groups, OwnWork const& work,
                     Device const& device);
    ~RehearsedNetwork() override;
    RehearsedNetwork(RehearsedNetwork const&) = delete;
    RehearsedNetwork& operator=(RehearsedNetwork const&) = delete;

    /// Those that are trained.
    [[nodiscard]] Parameters& parameters() { return parameters_; }

    /// Starts a step; `waited_s`: for others so far, which is added to all that is planned.
    void begin_step(std::function<double()> waited_s);
    /// A pass of the run of blocks that `groups` has entered, one micro-batch of the plan's bucket
    /// `bucket`: its result, for backward(). `step_s`: of all forward passes of this rank in the
    /// step. A pass takes its share of them.
    [[nodiscard]] at::Tensor forward(std::size_t bucket, double step_s);
    void backward(std::size_t bucket, int virtual_stage, at::Tensor const& end, double step_s);
    /// Seconds that the host waited for what it had queued on a GPU, in this step.
    [[nodiscard]] double synchronised_s() const { return synchronised_s_; }

    void open(std::size_t unit) override;
    void close(std::size_t unit, std::initializer_list<at::Tensor> outputs) override;

private:
    struct Arrival;
    struct PassFlops {
        double forward = 0, backward = 0;
    };
    using BucketFlops = std::vector<PassFlops>;  // of each run of blocks of this rank

    [[nodiscard]] Result<void> build(plan::WorkerJob const& job, RankGroups const& groups);
    void lead_gradients();
    [[nodiscard]] BucketFlops count(plan::BucketPlan const& bucket);
    void begin_pass(std::size_t bucket, int run, double PassFlops::*way, double step_s);
    void end_pass();
    /// Passes time up to what has been launched.
    void work();
    void work_until(double planned_s);

    std::vector<plan::BucketPlan> buckets_;
    std::shared_ptr<PipelineRanks> stages_;
    OwnWork own_work_;
    Device device_;
    Exchanging exchanging_;
    LaunchedFlops launched_;
    std::unique_ptr<RehearsedModel> model_;
    Parameters parameters_;
    std::vector<std::shared_ptr<Arrival>> arrivals_;
    std::vector<BucketFlops> flops_;  // of buckets_
    std::chrono::steady_clock::time_point start_;
    std::function<double()> waited_s_;
    double synchronised_s_ = 0;
    double planned_s_ = 0;                // before the pass
    double pass_flops_ = 0, pass_s_ = 0;  // of the pass
};

}  // namespace osora::worker
