// Schema 3: health of nodes. NULL = not recorded; throttle_reasons are NVML's bits, xids a JSON
// list.
#include "db/migrations/migrations.hpp"

namespace osora::db {

char const* const k0003Health = R"sql(
CREATE TABLE node_health(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  sequence INT NOT NULL, -- of the journal
  wall_us INT NOT NULL, node INT NOT NULL, why TEXT NOT NULL,
  load REAL, memory_available_bytes INT, cgroup_memory_bytes INT, disk_free_bytes INT,
  PRIMARY KEY(run_id,sequence)) STRICT, WITHOUT ROWID;
CREATE TABLE gpu_health(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  sequence INT NOT NULL,
  gpu INT NOT NULL,
  temperature_c REAL, power_w REAL, sm_mhz REAL,
  throttle_reasons INT NOT NULL, ecc_uncorrected INT NOT NULL, memory_used_bytes INT NOT NULL,
  xids TEXT NOT NULL,
  PRIMARY KEY(run_id,sequence,gpu)) STRICT, WITHOUT ROWID;
)sql";

}  // namespace osora::db
