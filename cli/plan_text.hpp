// The plan as text for a terminal of 80 columns: the plan, expect, why and nccl blocks that
// `osora plan`, `osora submit` and its --dry-run share. Pure.
#pragma once

#include "plan/decision.hpp"

#include <string>

namespace osora::cli {

struct PlanHeader {
    std::string run;      // "stdit3-stage1-0042" or the run's name before it has a number
    std::string job;      // "train"
    std::string arch;     // "stdit3-tiny"
    std::string machine;  // machine_line() or "slurm gpu: 16 nodes x 8 H100-80G = 128 ranks"
    double memory_limit_gib = 0;       // of a rank (GPU); 0: the host's counts
    double host_memory_limit_gib = 0;  // of a node; 0: not known
    bool explain = false;              // every reason, alternative and rejection
    int top = 3;                       // alternatives shown with explain
};

/// Four blocks, lines <= 80 columns, ends with a newline; the first line is the header's.
[[nodiscard]] std::string render_plan(plan::PlanDecision const& decision, PlanHeader const& header);

}  // namespace osora::cli
