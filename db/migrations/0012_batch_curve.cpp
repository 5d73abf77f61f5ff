// Schema 12: what the plan expected of other global batches, and how evenly it loads the ranks of a
// step. Older runs have neither.
#include "db/migrations/migrations.hpp"

namespace osora::db {

char const* const k0012BatchCurve = R"sql(
ALTER TABLE plan ADD COLUMN rank_wait_s REAL;
ALTER TABLE plan ADD COLUMN rank_balance REAL;
CREATE TABLE plan_batch(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  ordinal INT NOT NULL,
  global_batch_size INT NOT NULL, -- of the first bucket
  exposed_comm_share REAL, step_time_s REAL, samples_per_s REAL,
  PRIMARY KEY(run_id,ordinal)) STRICT, WITHOUT ROWID;
)sql";

}  // namespace osora::db
