// The learning rate of a step: warm-up, then a schedule to the end of the run. Pure.
#pragma once

#include <cstdint>

namespace osora::worker {

enum class LrSchedule { constant, cosine, linear };

struct LearningRate {
    double lr = 1e-4;   // after the warm-up
    double lr_min = 0;  // at the end, if the schedule falls
    std::int64_t warmup_steps = 0;
    std::int64_t steps = 0;  // of the run, warm-up included
    LrSchedule schedule = LrSchedule::constant;
};

/// Warm-up is Open-Sora's LinearWarmupLR: lr (step + 1) / (warmup_steps + 1). After it, with k of n
/// steps done, torch.optim.lr_scheduler's CosineAnnealingLR (T_max = n, eta_min = lr_min) or
/// LinearLR (start_factor 1, end_factor lr_min / lr, total_iters n); lr_min from step n on.
[[nodiscard]] double learning_rate(LearningRate const& rule, std::int64_t step);

}  // namespace osora::worker
