// Schema 5: the measurements of a run with job = "probe", sample by sample, and its findings. Nodes
// are numbers of the run (run_node); a negative number means none.
#include "db/migrations/migrations.hpp"

namespace osora::db {

char const* const k0005Probe = R"sql(
CREATE TABLE probe_pair(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  sequence INT NOT NULL, ordinal INT NOT NULL, -- of the journal; in its record
  stage TEXT NOT NULL, round INT NOT NULL,
  from_node INT NOT NULL, to_node INT NOT NULL,
  transport TEXT NOT NULL, interface TEXT NOT NULL, network TEXT NOT NULL,
  size_bytes INT NOT NULL, seconds REAL NOT NULL, latency_us REAL,
  PRIMARY KEY(run_id,sequence,ordinal)) STRICT, WITHOUT ROWID;
CREATE TABLE probe_collective(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  sequence INT NOT NULL, ordinal INT NOT NULL,
  backend TEXT NOT NULL, collective TEXT NOT NULL,
  ranks INT NOT NULL, nodes INT NOT NULL,
  size_bytes INT NOT NULL, time_us REAL NOT NULL,
  PRIMARY KEY(run_id,sequence,ordinal)) STRICT, WITHOUT ROWID;
CREATE TABLE probe_storage(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  sequence INT NOT NULL, ordinal INT NOT NULL,
  node INT NOT NULL, alone INT NOT NULL, path TEXT NOT NULL,
  read_bytes_per_s REAL NOT NULL, open_us REAL NOT NULL, files INT NOT NULL,
  PRIMARY KEY(run_id,sequence,ordinal)) STRICT, WITHOUT ROWID;
CREATE TABLE probe_node(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  node INT NOT NULL, hostname TEXT NOT NULL, leaf TEXT NOT NULL,
  gbit_s REAL NOT NULL, of_median REAL NOT NULL, samples INT NOT NULL, bad INT NOT NULL,
  interface TEXT NOT NULL,
  PRIMARY KEY(run_id,node)) STRICT, WITHOUT ROWID;
CREATE INDEX probe_node_host ON probe_node(hostname);
CREATE TABLE probe_finding(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  ordinal INT NOT NULL,
  kind TEXT NOT NULL, place TEXT NOT NULL, nodes TEXT NOT NULL, -- JSON: names
  ratio REAL NOT NULL, evidence TEXT NOT NULL,
  PRIMARY KEY(run_id,ordinal)) STRICT, WITHOUT ROWID;
)sql";

}  // namespace osora::db
