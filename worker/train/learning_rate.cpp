#include "worker/train/learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace osora::worker {

double learning_rate(LearningRate const& rule, std::int64_t step) {
    if (step < rule.warmup_steps) {
        return rule.lr * static_cast<double>(step + 1) / static_cast<double>(rule.warmup_steps + 1);
    }
    if (rule.schedule == LrSchedule::constant) return rule.lr;
    auto const all = static_cast<double>(std::max<std::int64_t>(1, rule.steps - rule.warmup_steps));
    double const gone = std::min(1.0, static_cast<double>(step - rule.warmup_steps) / all);
    double const left = rule.schedule == LrSchedule::linear
                            ? 1 - gone
                            : 0.5 * (1 + std::cos(std::numbers::pi * gone));
    return rule.lr_min + (rule.lr - rule.lr_min) * left;
}

}  // namespace osora::worker
