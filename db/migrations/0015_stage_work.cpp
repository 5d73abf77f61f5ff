// Schema 15: the work of a run includes its stages. Series of runs that have some are derived
// again, which moves these runs to series of their own (db/derived/staged_runs.hpp).
#include "db/migrations/migrations.hpp"

namespace osora::db {

char const* const k0015StageWork = R"sql(
INSERT OR IGNORE INTO stale_series
  SELECT r.series_id FROM run r JOIN plan p USING(run_id) WHERE p.first_stage_step>0;
)sql";

}  // namespace osora::db
