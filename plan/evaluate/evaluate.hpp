// osora plan evaluate: predicted step time and memory of one row. Pure. docs/rfc/027 has the
// equations, their fit, and the errors measured on published runs.
#pragma once

#include "plan/evaluate/measured_runs.hpp"
#include "plan/evaluate/rows.hpp"

#include <string>
#include <string_view>

namespace osora::plan {

/// Seconds of a step on the slowest pipeline stage.
struct StepParts {
    double compute_s = 0;  // forward, backward and recomputation, of all micro-batches
    double encoder_s = 0;
    double tp_comm_s = 0, sp_comm_s = 0, pp_comm_s = 0;
    double dp_comm_s = 0;       // hidden or not
    double exposed_comm_s = 0;  // the part of these four that computing does not hide
    double bubble_s = 0;
    double optimizer_s = 0;
    double launch_s = 0;  // waiting for the processor to issue operators
    [[nodiscard]] double total_s() const {
        return compute_s + encoder_s + exposed_comm_s + bubble_s + optimizer_s + launch_s;
    }
};

struct Evaluation {
    StepParts parts;
    double peak_memory_gib = 0;  // of tensors on the fullest rank, GiB
    bool fits = false;           // in the GPU's memory, with the allocator's cache and the context
    MeasuredCorrection by = {};  // the effect of measured runs
    [[nodiscard]] double step_time_s() const { return parts.total_s(); }
};

/// For a layout without row_violations(); corrected by row.measured.
[[nodiscard]] Evaluation evaluate(EvaluateRow const& row);
/// The same by the equations only.
[[nodiscard]] Evaluation predict(EvaluateRow const& row);

/// GiB of tensors on the fullest rank, as torch.cuda.max_memory_allocated counts them.
[[nodiscard]] double peak_memory_gib(EvaluateRow const& row);
/// Whether such a peak fits in the GPU's memory.
[[nodiscard]] bool fits_memory(EvaluateRow const& row, double peak_gib);

/// Takes one line, returns one line (without its end), as in docs/contract.md section 5. Never
/// fails: the answer's "error" says what is wrong.
[[nodiscard]] std::string evaluate_line(std::string_view line, HardwareTable const& hardware);
/// The answer to a line that is not read: {"id":null,"error":"..."}.
[[nodiscard]] std::string error_line(std::string_view message);

}  // namespace osora::plan
