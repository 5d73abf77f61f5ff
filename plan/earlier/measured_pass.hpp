// Forward and backward passes of earlier runs of the same network on the same machines, which
// correct those of a plan. Pure.
#pragma once

#include "plan/calibration.hpp"
#include "plan/step_time.hpp"

#include <string>
#include <vector>

namespace osora::plan {

/// What a rank of a run took, whose ranks did not share samples (tp, sp, pp = 1).
struct MeasuredPass {
    int run = 0;                // its number
    int height = 0, width = 0;  // pixels of a sample
    int num_frames = 1;
    int micro_batch_size = 1;
    int ranks = 1, zero_stage = 0;
    int shard_size = 0;          // 0: all ranks
    int threads = 1, cores = 1;  // of a CPU rank, of all nodes
    std::string recompute = "none", activation_store = "none";
    double pass_s = 0;       // forward and backward of a micro-batch, without waiting for others
    double optimizer_s = 0;  // of a step
};

class PassCorrection {
public:
    /// `query`: of the network, its precision and what of it is trained; sizes do not matter.
    PassCorrection(std::vector<MeasuredPass> const& passes, StepQuery const& query,
                   Calibration const& calibration);

    struct Factors {
        double pass = 1, optimizer = 1;  // of what `calibration` predicts
    };
    /// A pass of a similar bucket counts more than one of another size, number of threads or way to
    /// keep activations.
    [[nodiscard]] Factors factors(StepQuery const& query) const;
    /// Of the run whose pass is nearest to the query; 0: there is none.
    [[nodiscard]] int nearest_run(StepQuery const& query) const;

private:
    struct Compared {
        int run = 0;
        StepQuery query;
        Factors measured;  // over predicted
    };
    std::vector<Compared> passes_;
};

}  // namespace osora::plan
