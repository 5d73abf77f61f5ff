// The [[stage]] tables that a run went through: the steps of each, their buckets and median times.
// Pure. The run's plan says where stages begin.
#pragma once

#include "db/record/run_record.hpp"

#include <boost/describe.hpp>

#include <string>
#include <vector>

namespace osora::db::analysis {

struct StageBucket {
    std::string bucket;
    int steps = 0;  // used
    double step_s_median = kUnknown;
};
BOOST_DESCRIBE_STRUCT(StageBucket, (), (bucket, steps, step_s_median))
struct StageRow {
    int index = 0;       // 0: before the first [[stage]]
    int first_step = 0;  // its steps are [first_step, that of the next one)
    int steps = 0;       // kept
    int steps_used = 0;
    double step_s_median = kUnknown;
    double predicted_s = kUnknown, predicted_samples_per_s = kUnknown;
    double predicted_gib = kUnknown;   // peak of a rank
    std::vector<StageBucket> buckets;  // buckets used, in order of appearance
};
BOOST_DESCRIBE_STRUCT(StageRow, (),
                      (index, first_step, steps, steps_used, step_s_median, predicted_s,
                       predicted_samples_per_s, predicted_gib, buckets))
/// Empty for a run without stages.
[[nodiscard]] std::vector<StageRow> stage_rows(std::vector<EventRecord> const& events,
                                               StepTable const& steps);
/// The buckets that the plan has for the [[stage]] tables, those before them left out.
[[nodiscard]] std::vector<PlannedBucket> stage_buckets(std::vector<EventRecord> const& events);

}  // namespace osora::db::analysis
