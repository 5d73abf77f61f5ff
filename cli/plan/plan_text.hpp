// The plan as text for a terminal of 80 columns: the blocks plan, expect, why and nccl that `osora
// plan`, `osora submit` and its --dry-run share. Pure.
#pragma once

#include "plan/decision.hpp"

#include <string>

namespace osora::cli {

struct PlanHeader {
    std::string run;             // "stdit3-stage1-0042", or the run's name while it has no number
    std::string job;             // "train"
    std::string arch;            // "stdit3-tiny"; empty: a user program
    std::string machine;         // "local: 2 CPU ranks on 2 cores, 23.5 GiB"
    bool gpu = false;            // ranks have GPUs: NCCL is used
    double gpu_memory_gib = 0;   // of one; 0: no GPU
    double host_memory_gib = 0;  // of a node; 0: not known
};

/// "run NAME · train stdit3-tiny · MACHINE" and an empty line.
[[nodiscard]] std::string render_plan_header(PlanHeader const& header);

/// Header, then blocks of lines <= 80 columns; ends with a newline.
[[nodiscard]] std::string render_plan(plan::PlanDecision const& decision, PlanHeader const& header);

/// The part that --explain adds: costs of each bucket, the best `top` alternatives, and rejections.
[[nodiscard]] std::string render_explanation(plan::PlanDecision const& decision, int top);

}  // namespace osora::cli
