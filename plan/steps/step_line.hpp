// A training step in one line, in the formats of common trainers. Pure.
#pragma once

#include "plan/config/step_pattern.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace osora::plan {

struct FoundStep {
    StepFigures figures;  // "step", any of time_s, maybe_time_s, loss, lr, grad_norm
    std::string counter;  // what counts: steps of other counters belong to other loops
    bool is_bar = false;  // redrawn with each figure: the last picture is the right one
    bool bare = false;    // the line of an engine (DeepSpeed): no loss, no time
    bool sure = false;    // it shows a loss or a time, not only a label
};

/// A line of output that reports a training step: a number after one of the words step, steps,
/// iter, iteration, iterations (or one of the forms of docs/guide/exec.md), and a loss or a time of
/// one step with its unit. A progress bar counts if it shows a loss or its label says training.
/// Lines of an evaluation do not count.
[[nodiscard]] std::optional<FoundStep> find_step_in(std::string_view line);
/// For a line whose text `plain` (plain_line.hpp) may report a step.
[[nodiscard]] std::optional<FoundStep> find_step_in_plain(std::string_view plain);
/// Only the figures, without doubtful ones.
[[nodiscard]] std::optional<StepFigures> find_step(std::string_view line);

/// Whether find_step() would examine the line closely: it has a keyword, a digit and a figure's
/// name. Costs a fraction of find_step().
[[nodiscard]] bool may_be_step(std::string_view line);
/// The same for the text of a PlainLine.
[[nodiscard]] bool may_tell_step(std::string_view plain);

}  // namespace osora::plan
