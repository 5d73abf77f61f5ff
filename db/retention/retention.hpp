// What history.db keeps of runs that ended long ago: summaries and events permanently, the steps of
// old runs thinned, rank times for days, longer near warnings and errors. Journals stay unless
// their removal is requested. Live runs are never touched.
#pragma once

#include "base/result.hpp"
#include "db/store/store.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace osora::db {

struct RetentionRules {
    std::int64_t now_us = 0;
    int matrix_days = 7;                                // after the end of a run
    std::int64_t matrix_bytes = std::int64_t{2} << 30;  // of all runs; the oldest are removed first
    int step_days = 30;
    bool journals = false;  // removes those of runs that ended more than step_days ago
    /// Whether a controller works in the run directory; a run must also have ended.
    std::function<bool(std::string const& run_dir)> is_live;
};

constexpr int kThinKeepFirst = 500;  // steps
constexpr int kThinKeepEvery = 10;
constexpr int kThinWindow = 50;       // steps on either side of a warning or an error
constexpr int kThinWindowsMax = 200;  // of a run, errors first
// Steps that stay when rank x step matrices are removed, as long as all fit into matrix_bytes.
constexpr int kMatrixKeepFirst = 100;
constexpr int kMatrixWindow = 50;
constexpr int kMatrixWindowsMax = 20;

/// [start, stop)
struct StepRange {
    int start = 0, stop = 0;
    friend bool operator==(StepRange const&, StepRange const&) = default;
};
/// Pure: the parts of a run's matrices that stay, ascending, without overlaps; `event_steps`: steps
/// of warnings and errors, most important first.
[[nodiscard]] std::vector<StepRange> matrix_windows(std::span<int const> event_steps);
/// Pure: the ranges in which only every tenth step is kept, for a run with steps up to `last`;
/// `event_steps`: of warnings and errors. The last step also stays.
[[nodiscard]] std::vector<StepRange> ranges_to_thin(int last, std::span<int const> event_steps);

struct RunRetention {
    std::int64_t run_id = 0;
    std::string name, run_dir;
    std::int64_t matrix_bytes = 0;   // to remove
    bool matrix_windows = true;      // parts near warnings and errors stay
    std::int64_t step_rows = 0;      // to remove
    std::int64_t journal_bytes = 0;  // to remove
};
struct RetentionPlan {
    std::vector<RunRetention> runs;  // runs with something to remove, oldest first
    std::int64_t free_bytes = 0;     // pages that are free already
    std::int64_t live = 0;           // runs that would be due but are live
};

/// Reads only.
[[nodiscard]] Result<RetentionPlan> plan_retention(Store& store, RetentionRules const& rules);

/// Does what `plan` says, one transaction per run, and frees pages in small steps, so that nobody
/// waits long. Skips a run that became live meanwhile. Returns by how many bytes history.db shrank.
[[nodiscard]] Result<std::int64_t> apply_retention(Store& store, RetentionPlan const& plan,
                                                   RetentionRules const& rules);

}  // namespace osora::db
