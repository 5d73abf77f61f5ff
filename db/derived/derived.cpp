#include "db/derived/derived.hpp"

#include "db/analysis/report/run_spans.hpp"
#include "db/analysis/report/run_windows.hpp"
#include "db/store/run_query.hpp"
#include "db/store/step_store.hpp"
#include "protocol/json.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace osora::db {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRunsAtOnce = 64;  // in a transaction

char const* derived_name(Derived what) {
    return what == Derived::spans ? "spans" : "windows";
}

bool is_stale(Connection& connection, std::int64_t run_id, Derived what) {
    return select_integer(connection, "SELECT 1 FROM stale WHERE run_id=?1 AND what=?2", run_id,
                          derived_name(what))
        .has_value();
}

void unmark(Connection& connection, std::int64_t run_id, Derived what) {
    execute(connection, "DELETE FROM stale WHERE run_id=?1 AND what=?2", run_id,
            derived_name(what));
}

std::vector<analysis::LaunchTimes> load_launches(Connection& connection, std::int64_t run_id) {
    std::vector<analysis::LaunchTimes> launches;
    auto& row = bind(connection.prepared(
                         "SELECT attempt,coalesce(first_step_us,0),coalesce(last_step_us,0) FROM "
                         "launch WHERE run_id=?1 ORDER BY attempt"),
                     run_id);
    while (row.executeStep()) {
        launches.push_back(
            {row.getColumn(0).getInt(), row.getColumn(1).getInt64(), row.getColumn(2).getInt64()});
    }
    return launches;
}

std::vector<std::int64_t> some_stale(Connection& connection, char const* sql, int limit) {
    std::vector<std::int64_t> ids;
    auto& row = bind(connection.prepared(sql), limit);
    while (row.executeStep()) ids.push_back(row.getColumn(0).getInt64());
    row.reset();
    return ids;
}

Result<void> derive_run(Connection& connection, std::int64_t run_id) {
    derive_spans(connection, run_id);
    if (!is_stale(connection, run_id, Derived::windows)) return {};
    std::array<std::string_view, 1> const metrics{"step_time_s"};
    derive_windows(connection, run_id, load_steps(connection, run_id, metrics));
    return {};
}

}  // namespace

void mark_stale(Connection& connection, std::int64_t run_id, Derived what) {
    execute(connection, "INSERT OR IGNORE INTO stale VALUES(?1,?2)", run_id, derived_name(what));
}

void mark_series_stale(Connection& connection, RunRecord const& run) {
    execute(connection, "DELETE FROM comparison WHERE run_id=?1 OR good_run_id=?1", run.run_id);
    execute(connection, "INSERT OR IGNORE INTO stale_series VALUES(?1)", run.series_id);
}

void derive_spans(Connection& connection, std::int64_t run_id) {
    if (!is_stale(connection, run_id, Derived::spans)) return;
    execute(connection, "DELETE FROM span WHERE run_id=?1", run_id);
    execute(connection,
            "UPDATE launch SET nodes=(SELECT nullif(count(DISTINCT node),0) FROM event e WHERE "
            "e.run_id=?1 AND e.kind='rank_started' AND e.attempt=launch.attempt) WHERE run_id=?1",
            run_id);
    auto const spans =
        analysis::run_spans(load_events(connection, run_id), load_launches(connection, run_id));
    int ordinal = 0;
    for (auto const& span : spans) {
        execute(connection, "INSERT INTO span VALUES(?1,?2,?3,nullif(?4,-1),nullif(?5,-1),?6,?7)",
                run_id, ordinal++, span.name, span.attempt, span.step, span.from_us, span.to_us);
    }
    unmark(connection, run_id, Derived::spans);
}

void derive_windows(Connection& connection, std::int64_t run_id, StepTable const& steps) {
    execute(connection, "DELETE FROM run_window WHERE run_id=?1", run_id);
    int ordinal = 0;
    for (auto const& window : analysis::run_windows(steps)) {
        execute(connection,
                "INSERT INTO run_window VALUES(?1,?2,?3,?4,?5,(SELECT nodes FROM launch WHERE "
                "run_id=?1 AND attempt=?3),?6,?7,?8,?9,?10,?11,?12)",
                run_id, ordinal++, window.attempt, window.first_step, window.last_step,
                window.ranks, protocol::encode(window.buckets), window.steps, window.steps_used,
                window.step_s_median, window.step_s_mad, window.samples_per_s);
    }
    unmark(connection, run_id, Derived::windows);
}

Result<void> derive_stale(Connection& connection, Clock::time_point deadline) {
    return guarded(connection, "write history", [&]() -> Result<void> {
        while (Clock::now() < deadline) {
            auto const runs = some_stale(
                connection, "SELECT DISTINCT run_id FROM stale ORDER BY run_id DESC LIMIT ?1",
                kRunsAtOnce);
            if (runs.empty()) break;
            OSORA_TRY_VOID(in_transaction(connection, "write history", [&]() -> Result<void> {
                for (auto const run_id : runs) OSORA_TRY_VOID(derive_run(connection, run_id));
                return {};
            }));
        }
        constexpr int kOne = 1;
        while (Clock::now() < deadline) {
            auto const series = some_stale(
                connection, "SELECT series_id FROM stale_series ORDER BY series_id DESC LIMIT ?1",
                kOne);
            if (series.empty()) break;
            OSORA_TRY(bool const done, derive_series(connection, series.front(), deadline));
            if (!done) break;
        }
        return {};
    });
}

}  // namespace osora::db
