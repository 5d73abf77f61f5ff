// Schema 13: tokens of a sample in each bucket of a plan; NULL: planned by an older osora.
#include "db/migrations/migrations.hpp"

namespace osora::db {

char const* const k0013Tokens = R"sql(
ALTER TABLE plan_bucket ADD COLUMN tokens_per_sample REAL;
)sql";

}  // namespace osora::db
