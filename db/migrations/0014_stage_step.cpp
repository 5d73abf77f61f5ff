// Schema 14: where the first [[stage]] of a run begins; from there on the run's plan is another.
#include "db/migrations/migrations.hpp"

namespace osora::db {

char const* const k0014StageStep = R"sql(
ALTER TABLE plan ADD COLUMN first_stage_step INT NOT NULL DEFAULT 0;
UPDATE plan SET first_stage_step=coalesce((SELECT CASE WHEN json_valid(body) THEN
  CAST(json_extract(body,'$.plan.stages[0].at_step') AS INT) END FROM event e
  WHERE e.run_id=plan.run_id AND kind='plan' ORDER BY event_id DESC LIMIT 1),0);
)sql";

}  // namespace osora::db
