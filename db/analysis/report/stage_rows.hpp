// The [[stage]] tables that a run went through: the steps of each, their buckets and median times.
// Pure. The run's plan says where stages begin.
#pragma once

#include "db/record/run_record.hpp"

#include <string>
#include <vector>

namespace osora::db::analysis {

struct StageBucket {
    std::string bucket;
    int steps = 0;  // used
    double step_s_median = kUnknown;
};
struct StageRow {
    int index = 0;       // 0: before the first [[stage]]
    int first_step = 0;  // its steps are [first_step, that of the next one)
    int steps = 0;       // kept
    int steps_used = 0;
    double step_s_median = kUnknown;
    double predicted_s = kUnknown;
    std::vector<StageBucket> buckets;  // buckets used, in order of appearance
};
/// Empty for a run without stages.
[[nodiscard]] std::vector<StageRow> stage_rows(std::vector<EventRecord> const& events,
                                               StepTable const& steps);

}  // namespace osora::db::analysis
