#include "daemon/steps/exec_steps.hpp"

namespace osora::daemon {

std::optional<SaidStep> ExecSteps::take(plan::StepFigures const& figures, StepSource source,
                                        MonotonicTime now) {
    if (source == StepSource::output && descriptor_) return std::nullopt;
    auto said = said_step(figures);
    if (!said) return std::nullopt;
    descriptor_ = descriptor_ || source == StepSource::descriptor;
    int const step = said->metrics.step;
    if (step == last_step_) return std::nullopt;  // reported twice, as with a line for each loss
    bool const anew = step < last_step_;          // the program counts within an epoch
    if (anew && offset_ < kStepsMax) offset_ += last_step_ + 1 - step;
    int const passed = last_step_ < 0 || anew ? 1 : step - last_step_;
    bool const first = last_step_ < 0;
    if (first) {
        from_one_ = step == 1 || (step > 1 && from_one_);
        offset_ = from_one_ ? -1 : 0;
    }
    if (is_second_ && from_start_ && !from_one_ && last_step_ > 1 && step == 2 * last_step_) {
        from_one_ = true;
        offset_ = -1;
    }
    is_second_ = first;
    std::chrono::duration<double> const since = now - last_at_;
    last_step_ = step;
    last_at_ = now;
    // A program that starts over for ever would count beyond the largest step.
    if (step + offset_ >= kStepsMax) return std::nullopt;
    said->metrics.step = static_cast<int>(step + offset_);
    if (said->said.contains("step_time_s")) return said;
    if (first) return std::nullopt;
    said->metrics.step_time_s = since.count() / passed;
    said->said.insert("step_time_s");
    return said;
}

}  // namespace osora::daemon
