// Schema 10: over how many ranks ZeRO divides (parallel.shard_size); 0: over all of them.
#include "db/migrations/migrations.hpp"

namespace osora::db {

char const* const k0010ShardSize = R"sql(
ALTER TABLE plan ADD COLUMN shard_size INT NOT NULL DEFAULT 0;
)sql";

}  // namespace osora::db
