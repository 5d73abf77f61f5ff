// What `osora bisect --scaling` shows at the end. Pure.
#pragma once

#include "cli/bisect/scaling_trials.hpp"
#include "db/analysis/bisect/scaling_study.hpp"
#include "plan/tune/tune_search.hpp"
#include "protocol/json.hpp"

#include <limits>
#include <string>
#include <vector>

namespace osora::cli {

struct ScalingAnswer {
    std::string series;
    std::string rung;
    db::analysis::ScalingStudy study = {};  // no steps: fewer than two sizes were measured
    /// One-sided exact test that the largest size is as fast as the knee; NaN: there is no knee.
    double p = std::numeric_limits<double>::quiet_NaN();
    std::vector<plan::TuneVerdict> remedies = {};  // tried at the largest size
    std::vector<std::string> notes = {};           // what the budget left out, what a probe found
    std::vector<ScalingTrial> trials = {};
    double cost_gpu_s = 0;
    std::string log = {};
    bool stopped = false;
};

/// The --dry-run text about the trials of the sizes.
struct ScalingCost {
    std::string series, rung;
    int steps = 0;
    struct Size {
        int nodes = 1, trials = 0;
        double gpu_s = 0;  // GPU seconds; without GPUs, of CPU ranks
    };
    std::vector<Size> sizes = {};
    double wall_s = 0, budget_gpu_s = 0;
    double remedies_below = 0;            // efficiency
    std::vector<std::string> notes = {};  // what the trials will not show
};

/// There is a knee, and it is not due to chance.
[[nodiscard]] bool is_proved(ScalingAnswer const& answer);

/// "proved", "sufficient", "not_reproducible": as of a bisect.
[[nodiscard]] char const* scaling_verdict(ScalingAnswer const& answer);

/// That trials do not reach the [[stage]] tables of the run that they repeat; "": it has not
/// reached one.
[[nodiscard]] std::string scaling_stage_note(db::analysis::RunSummary const& repeated);

[[nodiscard]] std::string scaling_answer_text(ScalingAnswer const& answer);
[[nodiscard]] std::string scaling_cost_text(ScalingCost const& cost);
/// Members of osora.bisect/1.
[[nodiscard]] protocol::json::object scaling_cost_json(ScalingCost const& cost);
[[nodiscard]] protocol::json::object scaling_answer_json(ScalingAnswer const& answer);

}  // namespace osora::cli
