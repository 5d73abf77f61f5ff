// Schema 6: views for users' own queries (db/views.cpp), and what they and reports look up by.
#include "db/migrations/migrations.hpp"

namespace osora::db {

char const* const k0006Views = R"sql(
CREATE INDEX run_submitted ON run(number DESC,run_id DESC);
CREATE INDEX event_kind ON event(kind,run_id);
CREATE INDEX fp_item_key ON fp_item(key,value);
)sql";

}  // namespace osora::db
