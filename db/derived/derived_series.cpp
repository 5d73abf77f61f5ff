// One transaction for the change points and removals, then one for every few comparisons, which
// read all steps of two runs.
#include "db/analysis/attribution/run_comparison.hpp"
#include "db/analysis/detection.hpp"
#include "db/derived/derived.hpp"
#include "db/derived/staged_runs.hpp"
#include "db/store/run_query.hpp"
#include "db/store/run_store.hpp"
#include "db/store/step_store.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace osora::db {
namespace {

using Clock = std::chrono::steady_clock;
using analysis::RunGroup;
using analysis::RunHistory;

constexpr std::size_t kComparisonsAtOnce = 8;  // in a transaction

/// A run, and the one that it is compared with.
struct RunPair {
    std::int64_t run_id = 0, good_run_id = 0;
};

std::vector<RunPair> pairs_of(std::vector<RunGroup> const& groups) {
    std::vector<RunPair> pairs;
    for (auto const& group : groups) {
        for (std::size_t i = 0; i < group.run_ids.size(); ++i) {
            auto const good = analysis::good_run_before(group, i);
            if (good) pairs.push_back({group.run_ids[i], group.run_ids[*good]});
        }
    }
    return pairs;
}

void save_change_points(Connection& connection, std::int64_t series_id,
                        std::vector<RunGroup> const& groups) {
    execute(connection, "DELETE FROM change_point WHERE series_id=?1", series_id);
    int ordinal = 0;
    for (auto const& group : groups) {
        auto const found = analysis::changepoint::robust_change_points(group.step_s);
        for (auto const& point : found.points) {
            auto const at = static_cast<std::size_t>(point.index);
            execute(connection,
                    "INSERT INTO change_point VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,'robust')",
                    series_id, ordinal++, group.run_ids[at], group.run_ids[at - 1],
                    group.numbers[static_cast<std::size_t>(point.lo)],
                    group.numbers[static_cast<std::size_t>(point.hi)], point.before, point.after,
                    point.p);
        }
    }
}

/// The pairs that are not compared yet; comparisons of other pairs of the series are deleted.
std::vector<RunPair> keep_comparisons(Connection& connection, std::int64_t series_id,
                                      std::vector<RunPair> const& pairs) {
    std::map<std::int64_t, std::int64_t> known;  // run -> good run
    auto& row =
        bind(connection.prepared("SELECT c.run_id,c.good_run_id FROM run r JOIN comparison c "
                                 "USING(run_id) WHERE r.series_id=?1"),
             series_id);
    while (row.executeStep()) known[row.getColumn(0).getInt64()] = row.getColumn(1).getInt64();
    std::vector<RunPair> missing;
    for (auto const& pair : pairs) {
        auto const found = known.find(pair.run_id);
        if (found != known.end() && found->second == pair.good_run_id) {
            known.erase(found);
        } else {
            missing.push_back(pair);
        }
    }
    for (auto const& [run_id, good] : known) {
        execute(connection, "DELETE FROM comparison WHERE run_id=?1", run_id);
    }
    return missing;
}

/// The input of compare_runs() for its waterfall.
std::optional<RunHistory> load_compared(Connection& connection, std::int64_t run_id) {
    auto run = run_of_id(connection, run_id);
    if (!run) return std::nullopt;
    RunHistory history;
    history.steps = load_steps(connection, run_id, kReportMetrics);
    history.config = load_facts(connection, run->fingerprint[0]);
    history.summary.run = std::move(*run);
    return history;
}

void save(Connection& connection, RunPair const& pair, analysis::RunComparison const& found) {
    auto const& fall = found.waterfall;
    execute(connection, "INSERT INTO comparison VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
            pair.run_id, pair.good_run_id,
            boost::describe::enum_to_string(found.verdict, "undecided"),
            boost::describe::enum_to_string(fall.intervals, "none"), fall.attributable(), fall.a_s,
            fall.b_s, fall.gap_s, fall.interval.low, fall.interval.high);
    int ordinal = 0;
    for (auto const& row : fall.rows) {
        execute(connection, "INSERT INTO attribution VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)",
                pair.run_id, ordinal++, row.key, row.a_s, row.b_s, row.gap_s, row.interval.low,
                row.interval.high, row.of_gap);
    }
}

void compare(Connection& connection, RunPair const& pair) {
    auto const good = load_compared(connection, pair.good_run_id);
    auto const run = load_compared(connection, pair.run_id);
    if (good && run) save(connection, pair, analysis::compare_runs({*good}, {*run}));
}

}  // namespace

Result<bool> derive_series(Connection& connection, std::int64_t series_id,
                           Clock::time_point deadline) {
    std::vector<RunPair> missing;
    OSORA_TRY_VOID(in_transaction(connection, "write history", [&]() -> Result<void> {
        move_staged_runs(connection, series_id);
        auto const groups = analysis::run_groups(load_series_runs(
            connection, "WHERE r.series_id=CAST(?1 AS INT) AND r.ended_us NOT NULL",
            std::to_string(series_id)));
        save_change_points(connection, series_id, groups);
        missing = keep_comparisons(connection, series_id, pairs_of(groups));
        return {};
    }));
    std::ranges::reverse(missing);  // newest first
    for (std::size_t done = 0; done < missing.size(); done += kComparisonsAtOnce) {
        if (Clock::now() >= deadline) return false;
        auto const stop = std::min(missing.size(), done + kComparisonsAtOnce);
        OSORA_TRY_VOID(in_transaction(connection, "write history", [&]() -> Result<void> {
            for (std::size_t i = done; i < stop; ++i) compare(connection, missing[i]);
            return {};
        }));
    }
    return in_transaction(connection, "write history", [&]() -> Result<bool> {
        execute(connection, "DELETE FROM stale_series WHERE series_id=?1", series_id);
        return true;
    });
}

}  // namespace osora::db
