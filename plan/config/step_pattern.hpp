// [worker] step_pattern: how the steps of a program of the user's own (job = "exec") are found in
// what it prints. Compiled by the validator, which explains what is wrong, and by the agent. Pure.
#pragma once

#include "base/result.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace osora::plan {

/// What a line says of a step, by name: "step", "step_time_s", "loss"...
using StepFigures = std::map<std::string, double, std::less<>>;

/// Words for step_pattern that are no expression.
inline constexpr std::string_view kStepPatternAuto = "auto", kStepPatternNone = "none";

class StepPattern {
public:
    static constexpr std::size_t kLineMax = 1024;  // bytes of a line that are looked at

    /// A Perl regular expression with named groups: (?<step>\d+) and any of time_s, time_ms, loss,
    /// grad_norm, lr, samples, data_wait_s, exposed_comm_s, arrival_s. invalid_input says what is
    /// wrong with it.
    [[nodiscard]] static Result<StepPattern> make(std::string_view expression);

    /// The figures of a line that matches; time_ms becomes time_s. nullopt: it does not match, a
    /// group holds no number, or the match takes too long.
    [[nodiscard]] std::optional<StepFigures> match(std::string_view line) const;

private:
    struct Compiled;
    explicit StepPattern(std::shared_ptr<Compiled const> compiled);
    std::shared_ptr<Compiled const> compiled_;
};

/// "1e-4", "2,048", "nan"; nullopt when `text` is no number.
[[nodiscard]] std::optional<double> parse_figure(std::string_view text);

}  // namespace osora::plan
