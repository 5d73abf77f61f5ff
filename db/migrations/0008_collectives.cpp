// Schema 8: cost of the collectives of training steps, by class. Sums over ranks and steps of a
// launch; v_collective shows them with those of probes.
#include "db/migrations/migrations.hpp"

namespace osora::db {

char const* const k0008Collectives = R"sql(
-- rank_steps: steps with such collectives, counted for each rank. bytes: exact below 2^53.
CREATE TABLE collective_sum(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  epoch INT NOT NULL,
  warmup INT NOT NULL CHECK(warmup IN(0,1)), -- 1: the first steps of the launch
  class TEXT NOT NULL, collective TEXT NOT NULL, backend TEXT NOT NULL,
  ranks INT NOT NULL, -- of the group
  bucket TEXT NOT NULL,
  rank_steps INT NOT NULL, calls INT NOT NULL, bytes REAL NOT NULL,
  seconds REAL NOT NULL, exposed_s REAL NOT NULL,
  PRIMARY KEY(run_id,epoch,warmup,class,collective,backend,ranks,bucket)) STRICT, WITHOUT ROWID;
)sql";

}  // namespace osora::db
