// The steps that one rank of an exec job reports, as metrics: each step once, counted on when the
// program starts counting again, and timed by the clock when the program gives no time. Steps count
// from 0: of a program whose first step is 1, each is one less. Pure.
#pragma once

#include "daemon/clock.hpp"
#include "daemon/steps/step_text.hpp"

#include <cstdint>
#include <optional>

namespace osora::daemon {

enum class StepSource { output, descriptor };

class ExecSteps {
public:
    static constexpr std::int64_t kStepsMax = 1'000'000'000;  // the journal's limit

    /// `from_one`: an earlier attempt of the program counted from 1; it may continue at any step.
    /// `from_start`: this is its first attempt. If the first two steps are then 10 and 20, it
    /// reports every tenth, and counts from 1: one that counts from 0 would have reported 0.
    explicit ExecSteps(bool from_one = false, bool from_start = false)
        : from_one_(from_one), from_start_(from_start) {}

    /// nullopt: nothing new, or a step of kStepsMax and more. The first step without a time only
    /// starts the clock. Once the descriptor has been used, output is no longer read.
    [[nodiscard]] std::optional<SaidStep> take(plan::StepFigures const& figures, StepSource source,
                                               MonotonicTime now);

    /// Whether output can report nothing more.
    [[nodiscard]] bool has_descriptor() const { return descriptor_; }
    [[nodiscard]] bool counts_from_one() const { return from_one_; }

private:
    int last_step_ = -1;       // as the program counts; -1 = none
    std::int64_t offset_ = 0;  // added to it
    MonotonicTime last_at_{};
    bool descriptor_ = false;
    bool from_one_ = false, from_start_ = false;
    bool is_second_ = false;  // the next step
};

}  // namespace osora::daemon
