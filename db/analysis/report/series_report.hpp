// The result of `osora report --series`, as a value: the scaling table over runs of one name that
// do the same work. Runs with other work are left out and named, with the difference. Pure.
#pragma once

#include "db/analysis/detection.hpp"
#include "db/analysis/history.hpp"
#include "db/analysis/measure.hpp"
#include "db/analysis/run_size.hpp"

#include <string>
#include <vector>

namespace osora::db::analysis {

/// Below this efficiency a row is marked and its largest loss is named.
constexpr double kEfficiencyLow = 0.8;

enum class Scaling {
    one_size,  // nothing to compare
    strong,    // the same global batch at every size
    weak,      // the same batch of a rank
    neither    // both change: efficiency mixes batch and size
};
BOOST_DESCRIBE_ENUM(Scaling, one_size, strong, weak, neither)

/// Runs of one size: ranks, nodes, threads and batches are equal. Figures are medians over the
/// runs.
struct ScalingRow {
    int ranks = 1, nodes = 1, threads_per_rank = 0;
    std::vector<int> runs;          // their numbers
    std::vector<int> global_batch;  // by bucket of the run file; empty = not known
    std::vector<int> stage_batch;   // of its [[stage]]s, in their order, by bucket
    double step_s = kUnknown;
    double mad = kUnknown;  // within a run; between runs if that is larger
    double samples_per_s = kUnknown;
    /// Throughput of a rank relative to that of the smallest size, at the smallest size's mix of
    /// buckets.
    double efficiency = kUnknown;
    double comm_share = kUnknown, wait_share = kUnknown, data_share = kUnknown;
    double predicted_over_measured = kUnknown;
    bool shares_cores = false;
    std::string cores;  // CoreUse::text
    std::string loss;   // the parts of the lost time, if efficiency is low
};

struct LeftOut {
    int number = 0;
    std::string name, reason;
};

struct SeriesReport {
    std::string name;
    Facts work;  // the work of all rows
    Scaling scaling = Scaling::one_size;
    std::string held_equal;         // "global batch 8", "batch of a rank 4, 2, 1"
    int runs = 0;                   // in the rows
    std::vector<ScalingRow> rows;   // ascending ranks
    std::vector<Detection> trends;  // of each row over time; the newest run's first
    std::vector<LeftOut> left_out;
    std::vector<std::string> notes;  // what the figures do not show
    std::vector<std::string> next;
};

[[nodiscard]] SeriesReport series_report(std::string const& name,
                                         std::vector<SeriesRun> const& runs);

}  // namespace osora::db::analysis
