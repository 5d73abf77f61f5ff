// The parallel layout of a traced job, from the YAML file beside the trace. Pure.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace osora::db::whatif {

/// world_size = dp_size * dsp_size * pp_size * tp_size; a trace has one worker for each dp rank and
/// stage.
struct JobShape {
    std::string name;
    int dp_size = 1, pp_size = 1, tp_size = 1;
    int dsp_size = 1;  // distributed sequence parallelism
    int vpp_size = 1;  // model chunks per stage
    int world_size = 1;
};

/// invalid_input: not YAML, not a mapping, a size that is not a positive number, or sizes whose
/// product is not world_size. Missing keys are 1; unknown keys are ignored.
[[nodiscard]] Result<JobShape> read_job_shape(std::string_view yaml);

}  // namespace osora::db::whatif
