// [worker] step_pattern: how the steps of a user program (job = "exec") are found in its output.
// Compiled by the validator, which explains errors, and by the agent. Pure.
#pragma once

#include "base/result.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace osora::plan {

/// Figures of a step in a line, by name: "step", "step_time_s", "loss"...
using StepFigures = std::map<std::string, double, std::less<>>;

/// Values of step_pattern that are not expressions.
inline constexpr std::string_view kStepPatternAuto = "auto", kStepPatternNone = "none";

class StepPattern {
public:
    static constexpr std::size_t kLineMax = 1024;  // only this many bytes of a line are searched

    /// A Perl regular expression with named groups: (?<step>\d+) and any of time_s, time_ms, loss,
    /// grad_norm, lr, samples, data_wait_s, exposed_comm_s, arrival_s. invalid_input says what is
    /// wrong with it.
    [[nodiscard]] static Result<StepPattern> make(std::string_view expression);

    /// The figures of a line that matches; time_ms becomes time_s. nullopt: it does not match, a
    /// group has no number, or the match takes too long.
    [[nodiscard]] std::optional<StepFigures> match(std::string_view line) const;

private:
    struct Compiled;
    explicit StepPattern(std::shared_ptr<Compiled const> compiled);
    std::shared_ptr<Compiled const> compiled_;
};

/// "1e-4", "2,048", "0,25" (a quarter), "nan"; nullopt if `text` is not a number.
[[nodiscard]] std::optional<double> parse_figure(std::string_view text);

}  // namespace osora::plan
