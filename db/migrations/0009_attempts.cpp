// Schema 9: a launch of a run's workers is an attempt; it was called an epoch, which is a pass over
// the data.
#include "db/migrations/migrations.hpp"

namespace osora::db {

char const* const k0009Attempts = R"sql(
ALTER TABLE run RENAME COLUMN epoch TO attempt;
ALTER TABLE run_node RENAME COLUMN metric_epoch TO metric_attempt;
ALTER TABLE run_rank RENAME COLUMN epoch TO attempt;
ALTER TABLE event RENAME COLUMN epoch TO attempt;
ALTER TABLE step RENAME COLUMN epoch TO attempt;
ALTER TABLE rank_matrix RENAME COLUMN epoch TO attempt;
ALTER TABLE launch RENAME COLUMN epoch TO attempt;
ALTER TABLE span RENAME COLUMN epoch TO attempt;
ALTER TABLE run_window RENAME COLUMN epoch TO attempt;
ALTER TABLE collective_sum RENAME COLUMN epoch TO attempt;
)sql";

}  // namespace osora::db
