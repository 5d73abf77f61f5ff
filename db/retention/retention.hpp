// What history.db keeps of runs that ended long ago: summaries and events for ever, the steps of
// old runs thinned, what each rank took for days, near warnings and errors for longer. Journals
// stay, unless they are given up by name. A run that is live is never touched.
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
    std::int64_t matrix_bytes = std::int64_t{2} << 30;  // of all runs; the oldest go first
    int step_days = 30;
    bool journals = false;  // of runs that ended more than step_days ago: removed
    /// Whether a controller works in the run directory; besides, a run must have ended.
    std::function<bool(std::string const& run_dir)> is_live;
};

constexpr int kThinKeepFirst = 500;  // steps
constexpr int kThinKeepEvery = 10;
constexpr int kThinWindow = 50;       // steps on either side of a warning or an error
constexpr int kThinWindowsMax = 200;  // of a run, errors first
// Of the rank x step matrices that go: these steps stay, as long as all fit into matrix_bytes.
constexpr int kMatrixKeepFirst = 100;
constexpr int kMatrixWindow = 50;
constexpr int kMatrixWindowsMax = 20;

/// [start, stop)
struct StepRange {
    int start = 0, stop = 0;
    friend bool operator==(StepRange const&, StepRange const&) = default;
};
/// Pure: ascending, without overlaps, what stays of a run's matrices; `event_steps`: of warnings
/// and errors, the first ones count.
[[nodiscard]] std::vector<StepRange> matrix_windows(std::span<int const> event_steps);
/// Pure: where only every tenth step of a run with steps up to `last` is kept; `event_steps`: of
/// warnings and errors. The last step stays too.
[[nodiscard]] std::vector<StepRange> ranges_to_thin(int last, std::span<int const> event_steps);

struct RunRetention {
    std::int64_t run_id = 0;
    std::string name, run_dir;
    std::int64_t matrix_bytes = 0;   // to go
    bool matrix_windows = true;      // what stands near warnings and errors stays
    std::int64_t step_rows = 0;      // to go
    std::int64_t journal_bytes = 0;  // to go
};
struct RetentionPlan {
    std::vector<RunRetention> runs;  // with something to go, oldest first
    std::int64_t free_bytes = 0;     // pages that are free already
    std::int64_t live = 0;           // runs that would be due but are live
};

/// Reads only.
[[nodiscard]] Result<RetentionPlan> plan_retention(Store& store, RetentionRules const& rules);

/// Does what `plan` says, a run in a transaction, and gives the pages back in small steps, so that
/// nobody waits long. A run that became live meanwhile is left out. Returns by how many bytes
/// history.db is smaller.
[[nodiscard]] Result<std::int64_t> apply_retention(Store& store, RetentionPlan const& plan,
                                                   RetentionRules const& rules);

}  // namespace osora::db
