// Finds what is due first, so that it can be shown before it is removed.
#include "db/retention/retention.hpp"

#include "db/store/connection_internal.hpp"
#include "db/store/run_store.hpp"
#include "db/store/thinning.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

namespace osora::db {
namespace {

constexpr std::int64_t kDayUs = std::int64_t{86'400} * 1'000'000;

bool ended_before(RunRecord const& run, int days, std::int64_t now_us) {
    return run.ended_us && *run.ended_us <= now_us - days * kDayUs;
}

std::vector<RunRecord> ended_runs(Connection& connection) {
    std::vector<RunRecord> runs;
    auto& row = connection.prepared(std::string(kSelectRun) +
                                    "WHERE r.ended_us NOT NULL ORDER BY r.ended_us,r.run_id");
    while (row.executeStep()) runs.push_back(read_run(row));
    return runs;
}

std::map<std::int64_t, std::int64_t> matrix_bytes_of_runs(Connection& connection) {
    std::map<std::int64_t, std::int64_t> bytes;
    auto& row =
        connection.prepared("SELECT run_id,sum(length(data)) FROM rank_matrix GROUP BY run_id");
    while (row.executeStep()) bytes[row.getColumn(0).getInt64()] = row.getColumn(1).getInt64();
    return bytes;
}

/// Only a journal that the history has read to its end can be removed.
std::int64_t journal_bytes_of(Connection& connection, RunRecord const& run) {
    auto const journal = (std::filesystem::path(run.run_dir) / "journal").string();
    std::error_code missing;
    auto const size = std::filesystem::file_size(journal, missing);
    if (missing) return 0;
    auto const read = select_integer(
        connection, "SELECT offset FROM journal WHERE path=?1 AND run_id=?2 AND problem=''",
        journal, run.run_id);
    return read && *read == static_cast<std::int64_t>(size) ? *read : 0;
}

/// What is due by its age.
RunRetention due_of(Connection& connection, RunRecord const& run, RetentionRules const& rules) {
    RunRetention due{.run_id = run.run_id, .name = run.name, .run_dir = run.run_dir};
    if (ended_before(run, rules.matrix_days, rules.now_us)) {
        due.matrix_bytes =
            matrix_bytes_outside(connection, run.run_id, windows_of(connection, run.run_id));
    }
    if (ended_before(run, rules.step_days, rules.now_us)) {
        for (auto const& range : ranges_of(connection, run.run_id)) {
            due.step_rows += count_steps(connection, run.run_id, range);
        }
        if (rules.journals) due.journal_bytes = journal_bytes_of(connection, run);
    }
    return due;
}

RetentionPlan make_plan(Connection& connection, RetentionRules const& rules) {
    RetentionPlan plan;
    auto matrices = matrix_bytes_of_runs(connection);
    std::int64_t total = 0;
    for (auto const& [run_id, bytes] : matrices) total += bytes;
    std::vector<RunRetention> by_age;
    for (auto const& run : ended_runs(connection)) {
        by_age.push_back(due_of(connection, run, rules));
        total -= by_age.back().matrix_bytes;
    }
    for (auto& due : by_age) {
        auto const left = matrices[due.run_id] - due.matrix_bytes;
        bool const too_much = total > rules.matrix_bytes && left > 0;
        if (!too_much && due.matrix_bytes + due.step_rows + due.journal_bytes == 0) continue;
        if (rules.is_live(due.run_dir)) {
            ++plan.live;
            total += due.matrix_bytes;
            continue;
        }
        if (too_much) {
            due.matrix_bytes += left;
            due.matrix_windows = false;
            total -= left;
        }
        plan.runs.push_back(std::move(due));
    }
    plan.free_bytes = select_integer(connection, "PRAGMA freelist_count").value_or(0) *
                      select_integer(connection, "PRAGMA page_size").value_or(0);
    return plan;
}

}  // namespace

std::vector<StepRange> matrix_windows(std::span<int const> event_steps) {
    auto const count = std::min<std::size_t>(event_steps.size(), kMatrixWindowsMax);
    std::vector<StepRange> each{{0, kMatrixKeepFirst}};
    for (int const step : event_steps.first(count)) {
        each.push_back({std::max(0, step - kMatrixWindow), step + kMatrixWindow + 1});
    }
    std::ranges::sort(each, {}, &StepRange::start);
    std::vector<StepRange> windows;
    for (auto const& window : each) {
        if (windows.empty() || window.start > windows.back().stop) {
            windows.push_back(window);
        } else {
            windows.back().stop = std::max(windows.back().stop, window.stop);
        }
    }
    return windows;
}

std::vector<StepRange> ranges_to_thin(int last, std::span<int const> event_steps) {
    std::vector<StepRange> windows{{0, kThinKeepFirst}};
    for (int const step : event_steps) {
        windows.push_back({step - kThinWindow, step + kThinWindow + 1});
    }
    windows.push_back({last, last + 1});
    std::ranges::sort(windows, {}, &StepRange::start);
    std::vector<StepRange> ranges;
    int from = 0;  // after the windows so far
    for (auto const& window : windows) {
        int const stop = std::min(window.start, last + 1);
        if (stop > from) ranges.push_back({from, stop});
        from = std::max(from, window.stop);
    }
    return ranges;
}

Result<RetentionPlan> plan_retention(Store& store, RetentionRules const& rules) {
    auto& connection = store.connection();
    return guarded(connection, "read history",
                   [&]() -> Result<RetentionPlan> { return make_plan(connection, rules); });
}

}  // namespace osora::db
