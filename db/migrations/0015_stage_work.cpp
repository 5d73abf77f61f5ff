// Schema 15: the work of a run includes its stages. Series of runs that have some are derived
// again, which moves these runs to separate series (db/derived/staged_runs.hpp). And a run was
// submitted before its controller started, if its first record says when.
#include "db/migrations/migrations.hpp"

namespace osora::db {

char const* const k0015StageWork = R"sql(
INSERT OR IGNORE INTO stale_series
  SELECT r.series_id FROM run r JOIN plan p USING(run_id) WHERE p.first_stage_step>0;
UPDATE run SET submitted_us=coalesce((SELECT CASE WHEN json_valid(body) THEN
  nullif(CAST(json_extract(body,'$.submitted_us') AS INT),0) END FROM event e
  WHERE e.run_id=run.run_id AND e.sequence=0),submitted_us);
)sql";

}  // namespace osora::db
