// Schema 7: rows derived from a run and its series, and the trials of osora bisect and osora tune.
// `stale` and `stale_series` name what must be derived again (db/derived/derived.hpp).
#include "db/migrations/migrations.hpp"

namespace osora::db {

char const* const k0007Derived = R"sql(
-- NULL: not told, or no step of it is in the journal. Times are those of the journal's records.
CREATE TABLE launch(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  epoch INT NOT NULL,
  nodes INT, first_step_us INT, last_step_us INT,
  PRIMARY KEY(run_id,epoch)) STRICT, WITHOUT ROWID;
INSERT INTO launch(run_id,epoch)
  SELECT DISTINCT run_id,epoch FROM event WHERE kind='launch' AND epoch NOT NULL;
UPDATE launch SET first_step_us=r.first_step_us FROM run r WHERE r.run_id=launch.run_id
  AND launch.epoch=(SELECT max(e.epoch) FROM event e WHERE e.run_id=r.run_id AND e.kind='launch'
             AND e.wall_us<=r.first_step_us);

CREATE TABLE span(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  ordinal INT NOT NULL,
  name TEXT NOT NULL, epoch INT, step INT, from_us INT NOT NULL, to_us INT NOT NULL,
  PRIMARY KEY(run_id,ordinal)) STRICT, WITHOUT ROWID;

CREATE TABLE run_window(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  ordinal INT NOT NULL,
  epoch INT NOT NULL, first_step INT NOT NULL, last_step INT NOT NULL,
  nodes INT, ranks INT NOT NULL,
  buckets TEXT NOT NULL, -- JSON: steps of each
  steps INT NOT NULL, steps_used INT NOT NULL,
  step_s_median REAL, step_s_mad REAL, samples_per_s REAL,
  PRIMARY KEY(run_id,ordinal)) STRICT, WITHOUT ROWID;

-- good_run_id: the newest run before it that did the same and was faster; the rows of `attribution`
-- add up to the gap.
CREATE TABLE comparison(
  run_id INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
  good_run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  verdict TEXT NOT NULL, intervals TEXT NOT NULL, attributable INT NOT NULL,
  good_s REAL, run_s REAL, gap_s REAL, gap_low_s REAL, gap_high_s REAL) STRICT;
CREATE INDEX comparison_good ON comparison(good_run_id);
CREATE TABLE attribution(
  run_id INT NOT NULL REFERENCES comparison ON DELETE CASCADE,
  ordinal INT NOT NULL,
  part TEXT NOT NULL, good_s REAL, run_s REAL,
  gap_s REAL, gap_low_s REAL, gap_high_s REAL, of_gap REAL,
  PRIMARY KEY(run_id,ordinal)) STRICT, WITHOUT ROWID;

-- run_id: the first run of the new level; the change lies between the runs low and high (numbers).
CREATE TABLE change_point(
  series_id INT NOT NULL REFERENCES series ON DELETE CASCADE,
  ordinal INT NOT NULL,
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  run_before_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  low_run INT NOT NULL, high_run INT NOT NULL,
  before_s REAL NOT NULL, after_s REAL NOT NULL, p REAL, method TEXT NOT NULL,
  PRIMARY KEY(series_id,ordinal)) STRICT, WITHOUT ROWID;
CREATE INDEX change_point_run ON change_point(run_id);
CREATE INDEX change_point_before ON change_point(run_before_id);

CREATE TABLE stale(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  what TEXT NOT NULL CHECK(what IN('spans','windows')),
  PRIMARY KEY(run_id,what)) STRICT, WITHOUT ROWID;
CREATE TABLE stale_series(
  series_id INTEGER PRIMARY KEY REFERENCES series ON DELETE CASCADE) STRICT;
INSERT INTO stale SELECT run_id,'spans' FROM run;
INSERT INTO stale SELECT run_id,'windows' FROM run
  WHERE uuid NOT IN(SELECT uuid FROM kept WHERE steps=1);
INSERT INTO stale_series SELECT series_id FROM series;

-- Files of STATE/bisects and STATE/tunes as they were read; problem: why it was not.
CREATE TABLE investigation_file(
  path TEXT PRIMARY KEY,
  size_bytes INT NOT NULL, mtime_ns INT NOT NULL, problem TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE investigation(
  investigation_id INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL, series TEXT NOT NULL, good_uuid TEXT NOT NULL, bad_uuid TEXT NOT NULL,
  rung TEXT NOT NULL, steps INT NOT NULL,
  ended_us INT, verdict TEXT, relation TEXT, -- NULL: it has not ended
  p REAL, explained REAL, good_s REAL, bad_s REAL) STRICT;
CREATE TABLE trial(
  investigation_id INT NOT NULL REFERENCES investigation ON DELETE CASCADE,
  sequence INT NOT NULL, -- from 1
  changed TEXT NOT NULL, -- JSON: names
  status TEXT NOT NULL, value_s REAL, cost_gpu_s REAL, run_name TEXT NOT NULL,
  PRIMARY KEY(investigation_id,sequence)) STRICT, WITHOUT ROWID;
CREATE TABLE culprit(
  investigation_id INT NOT NULL REFERENCES investigation ON DELETE CASCADE,
  ordinal INT NOT NULL,
  item TEXT NOT NULL, good TEXT NOT NULL, bad TEXT NOT NULL,
  share REAL, low REAL, high REAL, holds INT NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY(investigation_id,ordinal)) STRICT, WITHOUT ROWID;

-- kept.matrices: 0 none was taken, 1 those outside of the windows that stay, 2 all.
UPDATE kept SET matrices=2 WHERE matrices=1;
)sql";

}  // namespace osora::db
