// Predicted against measured step times of all runs, and whether the error that plans state covers
// the errors that runs had. Pure.
#pragma once

#include "db/analysis/history.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace osora::db::analysis {

struct PredictionRow {
    std::int64_t number = 0;
    std::string name;
    int nodes = 0, ranks = 0;
    std::string layout;                          // "tp 2 · dp 4 · ZeRO 1"; "1 rank"
    double predicted_s = 0, measured_s = 0;      // of a step, the mix of the run's buckets
    double stated_error = 0;                     // relative half width; NaN: not recorded
    double predicted_gib = 0, measured_gib = 0;  // peak of a rank; NaN: unknown
    [[nodiscard]] double ratio() const { return predicted_s / measured_s; }
    /// Relative to the measurement.
    [[nodiscard]] double error() const;
    [[nodiscard]] bool covered() const { return error() <= stated_error; }
};

struct PredictionReport {
    std::vector<PredictionRow> rows;                           // newest run first
    double mean_error = 0, median_error = 0, worst_error = 0;  // of step times; NaN without rows
    std::int64_t worst_run = 0;
    std::size_t with_stated_error = 0, covered = 0;
};

/// Whether the run's plan is that of all its steps: it did not reach a [[stage]], which has a plan
/// of its own.
[[nodiscard]] bool plan_covers(RunSummary const& run);

/// Of runs with a planned step time and enough measured steps that the plan covers; others are
/// left out.
[[nodiscard]] PredictionReport prediction_report(std::vector<RunSummary> const& runs);

}  // namespace osora::db::analysis
