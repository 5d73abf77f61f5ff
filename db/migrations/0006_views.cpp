// Schema 6: views for users' own queries (db/store/views.cpp), their indexes, and what is kept of
// runs whose rows were thinned.
#include "db/migrations/migrations.hpp"

namespace osora::db {

char const* const k0006Views = R"sql(
CREATE INDEX run_submitted ON run(number DESC,run_id DESC);
CREATE INDEX event_kind ON event(kind,run_id);
-- By uuid: it outlasts the rows of a run that are made again. `figures`: analysis::StepFigures.
CREATE TABLE kept(
  uuid TEXT PRIMARY KEY,
  next_sequence INT NOT NULL, -- of its journal at that time
  steps INT NOT NULL, matrices INT NOT NULL, -- 1: steps were thinned, matrices taken
  figures TEXT NOT NULL) STRICT, WITHOUT ROWID;
)sql";

}  // namespace osora::db
