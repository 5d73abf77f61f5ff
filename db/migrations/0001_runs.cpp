// Schema 1: runs, their descriptions, their events, and their steps reduced over the ranks. Times
// `_us` are microseconds since 1970 UTC by the writer's clock; `_s` seconds.
#include "db/migrations/migrations.hpp"

namespace osora::db {

char const* const k0001Runs = R"sql(
-- A set of key = value that runs share; its hash covers kind, keys and values.
CREATE TABLE fingerprint(
  fp_id INTEGER PRIMARY KEY,
  sha256 TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK(kind IN('config','software','env','hardware')),
  n_items INT NOT NULL) STRICT;
CREATE TABLE fp_item(
  fp_id INT NOT NULL REFERENCES fingerprint ON DELETE CASCADE,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(fp_id,key)) STRICT, WITHOUT ROWID;

-- Runs of one name that do the same work (model, buckets, data) and so can be compared.
CREATE TABLE series(
  series_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  work_sha256 TEXT NOT NULL,
  work TEXT NOT NULL, -- JSON: flat key = value
  UNIQUE(name,work_sha256)) STRICT;

CREATE TABLE run(
  run_id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  number INT NOT NULL,
  name TEXT NOT NULL,
  series_id INT NOT NULL REFERENCES series,
  job TEXT NOT NULL, arch TEXT NOT NULL, user TEXT NOT NULL, host TEXT NOT NULL,
  run_dir TEXT NOT NULL,
  submitted_us INT, started_us INT, first_step_us INT, last_us INT, ended_us INT,
  verdict TEXT NOT NULL, exit_code INT NOT NULL, cause TEXT NOT NULL,
  nodes INT NOT NULL, ranks INT NOT NULL,
  steps_planned INT NOT NULL, restarts_max INT NOT NULL, attached INT NOT NULL,
  epoch INT NOT NULL, launches INT NOT NULL,
  controllers INT NOT NULL, controller_host TEXT NOT NULL,
  controller_boot_id TEXT NOT NULL, controller_pid INT NOT NULL,
  fp_config INT REFERENCES fingerprint, fp_software INT REFERENCES fingerprint,
  fp_env INT REFERENCES fingerprint, fp_hardware INT REFERENCES fingerprint) STRICT;
CREATE INDEX run_series ON run(series_id);
CREATE INDEX run_number ON run(number);
CREATE INDEX run_name ON run(name);

-- How far each journal has been read; tail_sha256 finds a journal that was replaced.
CREATE TABLE journal(
  path TEXT PRIMARY KEY,
  run_id INT REFERENCES run ON DELETE CASCADE,
  size_bytes INT NOT NULL, mtime_ns INT NOT NULL,
  offset INT NOT NULL, next_sequence INT NOT NULL,
  tail_sha256 TEXT NOT NULL, problem TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX journal_run ON journal(run_id);

CREATE TABLE node(
  node_id INTEGER PRIMARY KEY,
  hostname TEXT NOT NULL UNIQUE,
  first_seen_us INT NOT NULL, last_seen_us INT NOT NULL) STRICT;
-- (metric_epoch, metric_step): the first step of this node that has not been read yet.
CREATE TABLE run_node(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  node INT NOT NULL,
  node_id INT REFERENCES node,
  boot_id TEXT NOT NULL, cores INT,
  metric_epoch INT NOT NULL, metric_step INT NOT NULL,
  PRIMARY KEY(run_id,node)) STRICT, WITHOUT ROWID;
CREATE TABLE run_rank(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  rank INT NOT NULL,
  node INT NOT NULL, epoch INT NOT NULL, pid INT NOT NULL, start_step INT NOT NULL,
  device TEXT NOT NULL,
  PRIMARY KEY(run_id,rank)) STRICT, WITHOUT ROWID;

-- One row a journal record that is not a metric chunk; `version` of the journal's format. Rows
-- without a sequence were found by the reader (a damaged journal).
CREATE TABLE event(
  event_id INTEGER PRIMARY KEY,
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  sequence INT, version INT NOT NULL,
  wall_us INT, kind TEXT NOT NULL, severity TEXT NOT NULL,
  epoch INT, node INT, rank INT, step INT,
  body TEXT NOT NULL, -- JSON
  UNIQUE(run_id,sequence)) STRICT;

-- What the plan said, beside `measured`.
CREATE TABLE plan(
  run_id INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
  tp_size INT NOT NULL, pp_size INT NOT NULL, sp_size INT NOT NULL, dp_size INT NOT NULL,
  zero_stage INT NOT NULL, recompute TEXT NOT NULL, activation_store TEXT NOT NULL,
  num_workers INT NOT NULL, threads_per_rank INT NOT NULL,
  step_time_s REAL, step_time_error REAL, compute_s REAL, exposed_comm_s REAL, bubble_s REAL,
  loader_s REAL, peak_memory_gib REAL, host_memory_gib REAL, samples_per_s REAL) STRICT;
CREATE TABLE plan_bucket(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  ordinal INT NOT NULL,
  resolution TEXT NOT NULL, num_frames INT NOT NULL, height INT NOT NULL, width INT NOT NULL,
  micro_batch_size INT NOT NULL, grad_accum_steps INT NOT NULL, global_batch_size INT NOT NULL,
  gflop_per_sample REAL, step_time_s REAL, peak_memory_gib REAL,
  PRIMARY KEY(run_id,ordinal)) STRICT, WITHOUT ROWID;

-- A step as its last epoch did it; `repeated` counts the epochs that did it before.
CREATE TABLE step(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  step INT NOT NULL,
  epoch INT NOT NULL, ranks INT NOT NULL, samples INT NOT NULL, bucket TEXT NOT NULL,
  repeated INT NOT NULL,
  PRIMARY KEY(run_id,step)) STRICT, WITHOUT ROWID;
CREATE TABLE metric(
  metric_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE, unit TEXT NOT NULL) STRICT;
-- Over the n ranks of a step; NULL stands for NaN.
CREATE TABLE step_summary(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  metric_id INT NOT NULL REFERENCES metric,
  step INT NOT NULL,
  n INT NOT NULL, mean REAL, vmin REAL, vmax REAL, argmax INT,
  PRIMARY KEY(run_id,metric_id,step)) STRICT, WITHOUT ROWID;

-- Robust figures of the steps behind the warm-up (db/analysis/measure.hpp).
CREATE TABLE measured(
  run_id INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
  steps INT NOT NULL, next_step INT NOT NULL, warmup_steps INT NOT NULL,
  steps_used INT NOT NULL, steps_incomplete INT NOT NULL,
  steps_repeated INT NOT NULL, steps_undone INT NOT NULL,
  step_s_median REAL, step_s_mad REAL, step_s_mix REAL, samples_per_s REAL,
  data_share REAL, comm_share REAL, wait_share REAL,
  loss_window INT NOT NULL, loss_first REAL, loss_last REAL,
  rss_bytes INT NOT NULL, peak_allocated_bytes INT NOT NULL) STRICT;
CREATE TABLE measured_bucket(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  bucket TEXT NOT NULL,
  steps INT NOT NULL, samples_per_step REAL, step_s_median REAL, step_s_mad REAL,
  PRIMARY KEY(run_id,bucket)) STRICT, WITHOUT ROWID;
)sql";

}  // namespace osora::db
