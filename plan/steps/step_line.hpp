// A step of training in one line, as common trainers print it. Pure.
#pragma once

#include "plan/config/step_pattern.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace osora::plan {

struct FoundStep {
    StepFigures figures;  // "step", any of time_s, maybe_time_s, loss, lr, grad_norm
    std::string counter;  // what counts: steps of another counter are none of this one's
    bool is_bar = false;  // drawn anew with each figure: its last picture is the right one
    bool bare = false;    // the line of an engine (DeepSpeed): no loss, no time
    bool sure = false;    // it shows a loss or a time, not only a label
};

/// A line of output that tells of a training step: a number behind one of the words step, steps,
/// iter, iteration, iterations (or one of the forms of docs/guide/exec.md), and a loss or a time of
/// one step with its unit. A progress bar counts when it shows a loss or its label says training.
/// Lines of an evaluation are none.
[[nodiscard]] std::optional<FoundStep> find_step_in(std::string_view line);
/// Of a line whose text `plain` (plain_line.hpp) may tell of a step.
[[nodiscard]] std::optional<FoundStep> find_step_in_plain(std::string_view plain);
/// The figures alone, without doubtful ones.
[[nodiscard]] std::optional<StepFigures> find_step(std::string_view line);

/// Whether find_step() would look at the line closely: a word, a digit and a figure's name are in
/// it. Costs a fraction of find_step().
[[nodiscard]] bool may_be_step(std::string_view line);
/// The same of the text of a PlainLine.
[[nodiscard]] bool may_tell_step(std::string_view plain);

}  // namespace osora::plan
