#include "db/derived/staged_runs.hpp"

#include "db/derived/derived.hpp"
#include "db/record/facts.hpp"
#include "db/store/run_store.hpp"

#include <string>
#include <utility>
#include <vector>

namespace osora::db {
namespace {

struct StagedRun {
    std::int64_t run_id = 0;
    std::string plan_event;
};

std::vector<StagedRun> staged_runs(Connection& connection, std::int64_t series_id) {
    std::vector<StagedRun> found;
    auto& row = bind(
        connection.prepared("SELECT r.run_id,coalesce((SELECT body FROM event e WHERE "
                            "e.run_id=r.run_id AND kind='plan' ORDER BY event_id DESC LIMIT 1),'') "
                            "FROM run r JOIN plan p USING(run_id) WHERE r.series_id=?1 AND "
                            "p.first_stage_step>0"),
        series_id);
    while (row.executeStep()) {
        found.push_back({row.getColumn(0).getInt64(), row.getColumn(1).getString()});
    }
    row.reset();
    return found;
}

}  // namespace

void move_staged_runs(Connection& connection, std::int64_t series_id) {
    for (auto const& each : staged_runs(connection, series_id)) {
        auto const chosen = protocol::decode<protocol::PlanChosen>(each.plan_event);
        auto run = run_of_id(connection, each.run_id);
        if (chosen.has_error() || !run) continue;
        auto const config = load_facts(connection, run->fingerprint[0]);
        auto const own =
            series_id_of(connection, run->series, work_with_stages(config, chosen->plan));
        if (own == series_id) continue;
        mark_series_stale(connection, *run);
        run->series_id = own;
        save_run(connection, *run);
        mark_series_stale(connection, *run);
    }
}

}  // namespace osora::db
