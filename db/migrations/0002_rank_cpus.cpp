// Schema 2: the cores that a rank is bound to, as a Linux CPU list; '' = none.
#include "db/migrations/migrations.hpp"

namespace osora::db {

char const* const k0002RankCpus = "ALTER TABLE run_rank ADD COLUMN cpus TEXT NOT NULL DEFAULT ''";

}  // namespace osora::db
