// Figures are computed once, from complete rows: a second thinning keeps those of the first.
#include "db/store/thinning.hpp"

#include "db/store/run_query.hpp"
#include "db/store/step_store.hpp"
#include "protocol/messages/message.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::db {
namespace {

struct Kept {
    std::int64_t next_sequence = 0;
    bool steps = false;
    MatrixThinning matrices = MatrixThinning::none;
    std::string figures;
};

std::optional<Kept> load(Connection& connection, std::string const& uuid) {
    auto& row = bind(
        connection.prepared("SELECT next_sequence,steps,matrices,figures FROM kept WHERE uuid=?1"),
        uuid);
    if (!row.executeStep()) return std::nullopt;
    Kept kept{row.getColumn(0).getInt64(), row.getColumn(1).getInt() != 0,
              static_cast<MatrixThinning>(row.getColumn(2).getInt()), row.getColumn(3).getString()};
    row.reset();
    return kept;
}

std::string figures_of(Connection& connection, std::int64_t run_id) {
    auto const steps = load_steps(connection, run_id, kReportMetrics);
    auto const arrivals = load_blocks(connection, run_id, "arrival_s");
    auto const events = load_events(connection, run_id);
    return protocol::encode(analysis::step_figures(steps, arrivals, events));
}

/// SQL for blocks that have none of these steps; it contains only step numbers, so it needs no
/// bindings.
std::string outside(std::vector<StepRange> const& windows) {
    std::string sql = "NOT(0";
    for (auto const& window : windows) {
        sql += fmt::format(" OR step0<{} AND step0+steps>{}", window.stop, window.start);
    }
    return sql + ")";
}

void remove_rows(Connection& connection, std::int64_t run_id, Kept const& kept) {
    if (kept.matrices == MatrixThinning::outside_windows) {
        auto const windows = windows_of(connection, run_id);
        SQLite::Statement rows(connection.database(),
                               "DELETE FROM rank_matrix WHERE run_id=?1 AND " + outside(windows));
        bind(rows, run_id).exec();
    } else if (kept.matrices == MatrixThinning::all) {
        execute(connection, "DELETE FROM rank_matrix WHERE run_id=?1", run_id);
    }
    if (!kept.steps) return;
    for (auto const& range : ranges_of(connection, run_id)) {
        execute(connection,
                "DELETE FROM step_summary WHERE run_id=?1 AND metric_id IN(SELECT metric_id FROM "
                "metric) AND step>=?2 AND step<?3 AND step%?4<>0",
                run_id, range.start, range.stop, kThinKeepEvery);
        execute(connection,
                "DELETE FROM step WHERE run_id=?1 AND step>=?2 AND step<?3 AND step%?4<>0", run_id,
                range.start, range.stop, kThinKeepEvery);
    }
}

}  // namespace

void thin(Connection& connection, RunRecord const& run, bool steps, MatrixThinning matrices) {
    auto kept = load(connection, run.uuid);
    if (!kept) {
        kept.emplace();
        kept->next_sequence =
            select_integer(connection, "SELECT max(next_sequence) FROM journal WHERE run_id=?1",
                           run.run_id)
                .value_or(0);
        kept->figures = figures_of(connection, run.run_id);
    }
    kept->steps = kept->steps || steps;
    kept->matrices = std::max(kept->matrices, matrices);
    execute(connection, "INSERT OR REPLACE INTO kept VALUES(?1,?2,?3,?4,?5)", run.uuid,
            kept->next_sequence, kept->steps, static_cast<int>(kept->matrices), kept->figures);
    remove_rows(connection, run.run_id, *kept);
}

void thin_again(Connection& connection, RunRecord const& run, std::int64_t next_sequence) {
    auto const kept = load(connection, run.uuid);
    if (!kept) return;
    if (kept->next_sequence != next_sequence) return forget_thinning(connection, run.uuid);
    remove_rows(connection, run.run_id, *kept);
}

bool is_thinned(Connection& connection, std::string const& uuid) {
    return load(connection, uuid).has_value();
}

void forget_thinning(Connection& connection, std::string const& uuid) {
    execute(connection, "DELETE FROM kept WHERE uuid=?1", uuid);
}

std::optional<analysis::StepFigures> load_kept(Connection& connection, RunRecord const& run) {
    auto const kept = load(connection, run.uuid);
    if (!kept) return std::nullopt;
    auto figures = protocol::decode<analysis::StepFigures>(kept->figures);
    auto const measured = load_measured(connection, run.run_id);
    if (figures.has_error() || !measured) return std::nullopt;
    figures->measured = *measured;
    return std::move(*figures);
}

std::vector<StepRange> ranges_of(Connection& connection, std::int64_t run_id) {
    auto const last =
        select_integer(connection, "SELECT max(step) FROM step WHERE run_id=?1", run_id);
    std::vector<int> events;
    auto& row = bind(connection.prepared("SELECT step FROM event WHERE run_id=?1 AND severity<>"
                                         "'info' AND step>=0 ORDER BY severity='error' DESC,"
                                         "event_id LIMIT ?2"),
                     run_id, kThinWindowsMax);
    while (row.executeStep()) events.push_back(row.getColumn(0).getInt());
    return ranges_to_thin(static_cast<int>(last.value_or(-1)), events);
}

std::vector<StepRange> thinned_ranges(Connection& connection, std::int64_t run_id) {
    auto const thinned = select_integer(
        connection, "SELECT k.steps FROM kept k JOIN run r USING(uuid) WHERE r.run_id=?1", run_id);
    return thinned.value_or(0) != 0 ? ranges_of(connection, run_id) : std::vector<StepRange>();
}

std::vector<StepRange> windows_of(Connection& connection, std::int64_t run_id) {
    std::vector<int> events;
    auto& row = bind(
        connection.prepared(
            "WITH last AS (SELECT attempt,max(step0+steps-1) AS step FROM rank_matrix WHERE "
            "run_id=?1 GROUP BY attempt) SELECT coalesce(nullif(e.step,-1),l.step) AS step FROM "
            "event e LEFT JOIN last l ON e.severity='error' AND l.attempt=e.attempt WHERE "
            "e.run_id=?1 AND e.severity<>'info' AND coalesce(nullif(e.step,-1),l.step)>=0 "
            "GROUP BY 1 ORDER BY max(e.severity='error') DESC,min(e.event_id) LIMIT ?2"),
        run_id, kMatrixWindowsMax);
    while (row.executeStep()) events.push_back(row.getColumn(0).getInt());
    return matrix_windows(events);
}

std::int64_t matrix_bytes_outside(Connection& connection, std::int64_t run_id,
                                  std::vector<StepRange> const& windows) {
    SQLite::Statement row(
        connection.database(),
        "SELECT coalesce(sum(length(data)),0) FROM rank_matrix WHERE run_id=?1 AND " +
            outside(windows));
    bind(row, run_id).executeStep();
    return row.getColumn(0).getInt64();
}

std::int64_t count_steps(Connection& connection, std::int64_t run_id, StepRange range) {
    return select_integer(connection,
                          "SELECT count(*) FROM step WHERE run_id=?1 AND step>=?2 AND step<?3 AND "
                          "step%?4<>0",
                          run_id, range.start, range.stop, kThinKeepEvery)
        .value_or(0);
}

}  // namespace osora::db
