// What `osora bisect --scaling` shows at the end. Pure.
#pragma once

#include "db/analysis/bisect/scaling_study.hpp"
#include "plan/tune/tune_search.hpp"
#include "protocol/json.hpp"

#include <string>
#include <vector>

namespace osora::cli {

struct ScalingAnswer {
    std::string series;
    std::string rung;
    db::analysis::ScalingStudy study;
    /// One-sided, exact: that the largest size is as fast as the knee; NaN: there is no knee.
    double p = 0;
    std::vector<plan::TuneVerdict> remedies;  // tried at the largest size
    double cost_gpu_s = 0;
    int trials = 0;
    bool stopped = false;
};

/// There is a knee, and chance does not make one.
[[nodiscard]] bool is_proved(ScalingAnswer const& answer);

/// "proved", "sufficient", "not_reproducible": as of a bisect.
[[nodiscard]] char const* scaling_verdict(ScalingAnswer const& answer);

[[nodiscard]] std::string scaling_answer_text(ScalingAnswer const& answer);
/// Members of osora.bisect/1.
[[nodiscard]] protocol::json::object scaling_answer_json(ScalingAnswer const& answer);

}  // namespace osora::cli
