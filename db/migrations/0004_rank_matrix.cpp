// Schema 4: times of each rank, step by step. `data`: rows of steps with a value per rank of one
// metric, in the format of protocol/steps/matrix_codec.
#include "db/migrations/migrations.hpp"

namespace osora::db {

char const* const k0004RankMatrix = R"sql(
CREATE TABLE rank_matrix(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  metric_id INT NOT NULL REFERENCES metric,
  sequence INT NOT NULL, -- of the journal
  epoch INT NOT NULL, step0 INT NOT NULL, steps INT NOT NULL,
  node INT NOT NULL, first_rank INT NOT NULL, ranks INT NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY(run_id,metric_id,sequence)) STRICT, WITHOUT ROWID;
)sql";

}  // namespace osora::db
