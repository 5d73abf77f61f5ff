// Schema 11: how the ranks that share tokens compute attention (parallel.sp_kind): ulysses or ring;
// empty: no ranks share tokens. Before there was a choice, it was ulysses.
#include "db/migrations/migrations.hpp"

namespace osora::db {

char const* const k0011SpKind = R"sql(
ALTER TABLE plan ADD COLUMN sp_kind TEXT NOT NULL DEFAULT '';
UPDATE plan SET sp_kind='ulysses' WHERE sp_size>1;
)sql";

}  // namespace osora::db
