// Private to db/analysis: efficiency of one size relative to another, and the parts of the lost
// time.
#pragma once

#include "db/analysis/report/series_report.hpp"

#include <map>
#include <string>
#include <vector>

namespace osora::db::analysis {

struct BucketTime {
    double steps = 0;             // used, over all runs
    double samples_per_step = 0;  // median over the runs
    double step_s = 0;            // likewise
};
using BucketTimes = std::map<std::string, BucketTime>;

[[nodiscard]] BucketTimes bucket_times(std::vector<SeriesRun const*> const& runs);

/// Throughput of a rank at `other` over that at `base`, both with base's mix of their common
/// buckets; NaN if there are none. With one bucket this is t1 n1 / (tn nn) for the same global
/// batch and t1 / tn for the same batch of a rank.
[[nodiscard]] double efficiency(BucketTimes const& base, int base_ranks, BucketTimes const& other,
                                int other_ranks);

/// "0.21 s of the 0.40 s is waiting for a slower rank": the part of the row's step that grew most
/// over that of the base's step, scaled to the samples that a rank has here, and by how much. "":
/// none grew, or parts that are not known may have grown more.
[[nodiscard]] std::string largest_loss(ScalingRow const& base, ScalingRow const& row);

}  // namespace osora::db::analysis
