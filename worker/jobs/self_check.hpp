// train.self_check: one step of the run's layout with few blocks, compared with the same step on
// one rank (docs/rfc/025). Synthetic samples, random weights, fp32.
#pragma once

#include "base/result.hpp"
#include "plan/worker_job.hpp"
#include "worker/jobs/job_parts.hpp"
#include "worker/model/tensor_parts.hpp"
#include "worker/train/objective/objective.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace osora::worker {

/// Largest relative difference that rounding in fp32 explains. Sums of 1e6 items in another order
/// differ by less than 1e-4; a missing or doubled part of a gradient by far more than 1e-3.
inline constexpr double kSelfCheckLimit = 1e-3;

struct GradientDifference {
    double relative = 0;     // norm of the difference over that of one rank's gradient
    std::size_t tensor = 0;  // index of the trained tensor that differs most
};
/// Of the parts that this rank has (`own`) from the whole tensors of `expected`: both list all
/// trained tensors in the same order. Gradients smaller than 1e-3 of the norm of all are measured
/// against that, because rounding is all that some consist of (the bias of attention's keys).
/// Infinite where something is not finite.
[[nodiscard]] GradientDifference gradient_difference(std::vector<TensorParts> const& own,
                                                     std::vector<TensorParts> const& expected);

struct SelfCheck {
    double loss = 0;      // relative difference
    double gradient = 0;  // GradientDifference::relative of the rank where it is largest
    std::string tensor;
    int rank = 0;
    std::string layout;  // "tp 2, dp 2, ZeRO 1; 2 + 2 blocks, fp32"

    [[nodiscard]] bool passed() const {
        return loss <= kSelfCheckLimit && gradient <= kSelfCheckLimit;
    }
    /// One sentence that says what was compared, and the difference.
    [[nodiscard]] std::string text() const;
};

/// The network of a job for ranks that share it, with its initial weights.
using MakeObjective =
    std::function<Result<std::unique_ptr<Objective>>(plan::WorkerJob const&, RankGroups const&)>;

/// job = "train". All ranks call it and get the same answer; each also does the one rank's step.
/// Its networks are gone when it returns. Errors: those of the step and of `make`.
[[nodiscard]] Result<SelfCheck> self_check(plan::WorkerJob const& job, TrainRanks const& ranks,
                                           Device const& device, MakeObjective const& make);

}  // namespace osora::worker
