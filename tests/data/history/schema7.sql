-- history.db of schema 7 as osora 0.1.0 (1d0cb13f) made it of schema6.sql, with what follows from
-- its rows: written by `osora history`, read with Python's sqlite3 (iterdump).
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE attribution(
  run_id INT NOT NULL REFERENCES comparison ON DELETE CASCADE,
  ordinal INT NOT NULL,
  part TEXT NOT NULL, good_s REAL, run_s REAL,
  gap_s REAL, gap_low_s REAL, gap_high_s REAL, of_gap REAL,
  PRIMARY KEY(run_id,ordinal)) STRICT, WITHOUT ROWID;
INSERT INTO "attribution" VALUES(2,0,'compute',4.19416789473684215039e-01,4.15084157894736849314e-01,-4.33263157894735358166e-03,-8.06772105263151712017e-03,-1.33720765550243659777e-03,-2.57330415754922492421e-02);
INSERT INTO "attribution" VALUES(2,1,'bucket_mix',NULL,NULL,2.52005676012584672201e-17,-7.92982456140350205897e-02,9.38315789473685157862e-02,1.49675143614851768152e-16);
INSERT INTO "attribution" VALUES(2,2,'bucket_imbalance',0.0,0.0,0.0,0.0,0.0,0.0);
INSERT INTO "attribution" VALUES(2,3,'slower_rank',0.0,0.0,0.0,0.0,0.0,0.0);
INSERT INTO "attribution" VALUES(2,4,'wait_data',0.0,0.0,0.0,0.0,0.0,0.0);
INSERT INTO "attribution" VALUES(2,5,'wait_network',0.0,0.0,0.0,0.0,0.0,0.0);
INSERT INTO "attribution" VALUES(2,6,'exposed_comm',0.0,0.0,0.0,0.0,0.0,0.0);
INSERT INTO "attribution" VALUES(2,7,'loader',0.00873421052631579,1.81523684210526309312e-01,1.72789473684210548309e-01,1.50606491228070155097e-01,1.9064015037593984303e-01,1.02625820568927772491e+00);
INSERT INTO "attribution" VALUES(2,8,'host',8.55952631578947402413e-03,8.47110526315789438833e-03,-8.84210526315786329073e-05,-1.64647368421052181291e-04,-2.7289952153109153744e-05,-0.000525164113785556);
INSERT INTO "attribution" VALUES(2,9,'residual',2.62947558463852850254e-17,8.76491861546176167455e-18,-1.75298372309235233495e-17,-3.68126581849394e-17,0.0,-1.04115944791355701838e-16);
CREATE TABLE change_point(
  series_id INT NOT NULL REFERENCES series ON DELETE CASCADE,
  ordinal INT NOT NULL,
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  run_before_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  low_run INT NOT NULL, high_run INT NOT NULL,
  before_s REAL NOT NULL, after_s REAL NOT NULL, p REAL, method TEXT NOT NULL,
  PRIMARY KEY(series_id,ordinal)) STRICT, WITHOUT ROWID;
CREATE TABLE comparison(
  run_id INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
  good_run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  verdict TEXT NOT NULL, intervals TEXT NOT NULL, attributable INT NOT NULL,
  good_s REAL, run_s REAL, gap_s REAL, gap_low_s REAL, gap_high_s REAL) STRICT;
INSERT INTO "comparison" VALUES(2,1,'slower','within_run',1,4.36710526315789437923e-01,0.605078947368421,1.68368421052631611622e-01,9.95000000000000328626e-02,2.41394736842105328555e-01);
CREATE TABLE culprit(
  investigation_id INT NOT NULL REFERENCES investigation ON DELETE CASCADE,
  ordinal INT NOT NULL,
  item TEXT NOT NULL, good TEXT NOT NULL, bad TEXT NOT NULL,
  share REAL, low REAL, high REAL, holds INT NOT NULL, reason TEXT NOT NULL,
  PRIMARY KEY(investigation_id,ordinal)) STRICT, WITHOUT ROWID;
CREATE TABLE event(
  event_id INTEGER PRIMARY KEY,
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  sequence INT, version INT NOT NULL,
  wall_us INT, kind TEXT NOT NULL, severity TEXT NOT NULL,
  epoch INT, node INT, rank INT, step INT,
  body TEXT NOT NULL, -- JSON
  UNIQUE(run_id,sequence)) STRICT;
INSERT INTO "event" VALUES(1,1,0,1,1795000000000000,'submitted','info',NULL,NULL,NULL,NULL,'{"type":"submitted","run_uuid":"00000000-0000-4000-8000-000000000001","run_name":"demo-0001","job":"train","user":"ada","host":"n0","base_dir":"","number":1,"nodes":1,"ranks_per_node":1,"restarts_max":3,"steps":24,"attached":true,"facts":{"osora.commit":"0123456789abcdef0123456789abcdef01234567"},"config":{"run":{"name":"demo","job":"train"},"model":{"arch":"stdit3-tiny"},"data":{"manifest":"clips.csv"}},"origins":null}');
INSERT INTO "event" VALUES(2,1,1,1,1795000000000000,'plan','info',NULL,NULL,NULL,NULL,'{"type":"plan","plan":{"chosen":{"dp_size":1,"threads_per_rank":1,"num_workers":1,"buckets":[{"resolution":"64","num_frames":1,"height":64,"width":64,"micro_batch_size":16,"global_batch_size":16,"step_time_s":2.8E-1},{"resolution":"64","num_frames":8,"height":64,"width":64,"micro_batch_size":4,"global_batch_size":4,"step_time_s":4.9E-1}]},"predicted":{"step_time_s":4.2E-1,"step_time_error":2.5E-1,"compute_s":3.78E-1,"exposed_comm_s":2.1E-2,"loader_s":0E0,"peak_memory_gib":1.25E0,"samples_per_s":2E1}}}');
INSERT INTO "event" VALUES(3,1,2,1,1795000000010000,'controller','info',NULL,NULL,NULL,NULL,'{"type":"controller","host":"n0","boot_id":"boot-0","pid":100,"life":0}');
INSERT INTO "event" VALUES(4,1,3,1,1795000000060000,'agent_joined','info',NULL,0,NULL,NULL,'{"type":"agent_joined","node":0,"host":"n0","boot_id":"boot-0","pid":200,"start_ticks":1,"facts":{"cpus":"4"}}');
INSERT INTO "event" VALUES(5,1,4,1,1795000000560000,'launch','info',0,NULL,NULL,NULL,'{"type":"launch","epoch":0,"world_size":1,"store_host":"127.0.0.1","store_port":4000}');
INSERT INTO "event" VALUES(6,1,5,1,1795000000760000,'rank_started','info',0,0,0,NULL,'{"type":"rank_started","epoch":0,"node":0,"rank":0,"pid":300,"start_step":0,"facts":{},"cpus":""}');
INSERT INTO "event" VALUES(7,1,30,1,1795000015356495,'checkpoint','info',0,NULL,NULL,24,'{"type":"checkpoint","epoch":0,"step":24,"path":"checkpoints/b","seconds":7E-2,"bytes":1258291}');
INSERT INTO "event" VALUES(8,1,31,1,1795000015356495,'node_finished','info',0,0,NULL,NULL,'{"type":"node_finished","epoch":0,"node":0,"steps":24,"stopped":false}');
INSERT INTO "event" VALUES(9,1,32,1,1795000015456495,'node_stopped','info',0,0,NULL,NULL,'{"type":"node_stopped","epoch":0,"node":0,"processes_left":0,"unasked":false}');
INSERT INTO "event" VALUES(10,1,33,1,1795000015556495,'ended','info',NULL,NULL,NULL,NULL,'{"type":"ended","verdict":"ok","exit_code":0,"cause":""}');
INSERT INTO "event" VALUES(11,2,0,1,1795000000000000,'submitted','info',NULL,NULL,NULL,NULL,'{"type":"submitted","run_uuid":"00000000-0000-4000-8000-000000000002","run_name":"demo-0002","job":"train","user":"ada","host":"n0","base_dir":"","number":2,"nodes":1,"ranks_per_node":1,"restarts_max":3,"steps":24,"attached":true,"facts":{"osora.commit":"0123456789abcdef0123456789abcdef01234567"},"config":{"run":{"name":"demo","job":"train"},"model":{"arch":"stdit3-tiny"},"data":{"manifest":"clips.csv"}},"origins":null}');
INSERT INTO "event" VALUES(12,2,1,1,1795000000000000,'plan','info',NULL,NULL,NULL,NULL,'{"type":"plan","plan":{"chosen":{"dp_size":1,"threads_per_rank":1,"num_workers":1,"buckets":[{"resolution":"64","num_frames":1,"height":64,"width":64,"micro_batch_size":16,"global_batch_size":16,"step_time_s":2.8E-1},{"resolution":"64","num_frames":8,"height":64,"width":64,"micro_batch_size":4,"global_batch_size":4,"step_time_s":4.9E-1}]},"predicted":{"step_time_s":4.2E-1,"step_time_error":2.5E-1,"compute_s":3.78E-1,"exposed_comm_s":2.1E-2,"loader_s":0E0,"peak_memory_gib":1.25E0,"samples_per_s":2E1}}}');
INSERT INTO "event" VALUES(13,2,2,1,1795000000010000,'controller','info',NULL,NULL,NULL,NULL,'{"type":"controller","host":"n0","boot_id":"boot-0","pid":100,"life":0}');
INSERT INTO "event" VALUES(14,2,3,1,1795000000060000,'agent_joined','info',NULL,0,NULL,NULL,'{"type":"agent_joined","node":0,"host":"n0","boot_id":"boot-0","pid":200,"start_ticks":1,"facts":{"cpus":"4"}}');
INSERT INTO "event" VALUES(15,2,4,1,1795000000560000,'launch','info',0,NULL,NULL,NULL,'{"type":"launch","epoch":0,"world_size":1,"store_host":"127.0.0.1","store_port":4000}');
INSERT INTO "event" VALUES(16,2,5,1,1795000000760000,'rank_started','info',0,0,0,NULL,'{"type":"rank_started","epoch":0,"node":0,"rank":0,"pid":300,"start_step":0,"facts":{},"cpus":""}');
INSERT INTO "event" VALUES(17,2,30,1,1795000020935995,'checkpoint','info',0,NULL,NULL,24,'{"type":"checkpoint","epoch":0,"step":24,"path":"checkpoints/b","seconds":7E-2,"bytes":1258291}');
INSERT INTO "event" VALUES(18,2,31,1,1795000020935995,'node_finished','info',0,0,NULL,NULL,'{"type":"node_finished","epoch":0,"node":0,"steps":24,"stopped":false}');
INSERT INTO "event" VALUES(19,2,32,1,1795000021035995,'node_stopped','info',0,0,NULL,NULL,'{"type":"node_stopped","epoch":0,"node":0,"processes_left":0,"unasked":false}');
INSERT INTO "event" VALUES(20,2,33,1,1795000021135995,'ended','info',NULL,NULL,NULL,NULL,'{"type":"ended","verdict":"ok","exit_code":0,"cause":""}');
INSERT INTO "event" VALUES(21,3,0,1,1795000000000000,'submitted','info',NULL,NULL,NULL,NULL,'{"type":"submitted","run_uuid":"00000000-0000-4000-8000-000000000003","run_name":"demo-0003","job":"train","user":"ada","host":"n0","base_dir":"","number":3,"nodes":1,"ranks_per_node":2,"restarts_max":3,"steps":24,"attached":true,"facts":{"osora.commit":"0123456789abcdef0123456789abcdef01234567"},"config":{"run":{"name":"demo","job":"train"},"model":{"arch":"stdit3-tiny"},"data":{"manifest":"clips.csv"}},"origins":null}');
INSERT INTO "event" VALUES(22,3,1,1,1795000000000000,'plan','info',NULL,NULL,NULL,NULL,'{"type":"plan","plan":{"chosen":{"dp_size":2,"threads_per_rank":1,"num_workers":1,"buckets":[{"resolution":"64","num_frames":1,"height":64,"width":64,"micro_batch_size":8,"global_batch_size":16,"step_time_s":2.8E-1},{"resolution":"64","num_frames":8,"height":64,"width":64,"micro_batch_size":2,"global_batch_size":4,"step_time_s":4.9E-1}]},"predicted":{"step_time_s":4.2E-1,"step_time_error":2.5E-1,"compute_s":3.78E-1,"exposed_comm_s":2.1E-2,"loader_s":0E0,"peak_memory_gib":1.25E0,"samples_per_s":2E1}}}');
INSERT INTO "event" VALUES(23,3,2,1,1795000000010000,'controller','info',NULL,NULL,NULL,NULL,'{"type":"controller","host":"n0","boot_id":"boot-0","pid":100,"life":0}');
INSERT INTO "event" VALUES(24,3,3,1,1795000000060000,'agent_joined','info',NULL,0,NULL,NULL,'{"type":"agent_joined","node":0,"host":"n0","boot_id":"boot-0","pid":200,"start_ticks":1,"facts":{"cpus":"4"}}');
INSERT INTO "event" VALUES(25,3,4,1,1795000000560000,'launch','info',0,NULL,NULL,NULL,'{"type":"launch","epoch":0,"world_size":2,"store_host":"127.0.0.1","store_port":4000}');
INSERT INTO "event" VALUES(26,3,5,1,1795000000760000,'rank_started','info',0,0,0,NULL,'{"type":"rank_started","epoch":0,"node":0,"rank":0,"pid":300,"start_step":0,"facts":{},"cpus":""}');
INSERT INTO "event" VALUES(27,3,6,1,1795000000960000,'rank_started','info',0,0,1,NULL,'{"type":"rank_started","epoch":0,"node":0,"rank":1,"pid":301,"start_step":0,"facts":{},"cpus":""}');
INSERT INTO "event" VALUES(28,3,19,1,1795000010362995,'checkpoint','info',0,NULL,NULL,12,'{"type":"checkpoint","epoch":0,"step":12,"path":"checkpoints/a","seconds":5E-2,"bytes":1258291}');
INSERT INTO "event" VALUES(29,3,28,1,1795000013858995,'rank_failed','error',0,0,1,NULL,'{"type":"rank_failed","epoch":0,"node":0,"rank":1,"exit_code":0,"signal":9,"oom_killed":false,"message":"","tail":""}');
INSERT INTO "event" VALUES(30,3,29,1,1795000013958995,'node_stopped','info',0,0,NULL,NULL,'{"type":"node_stopped","epoch":0,"node":0,"processes_left":0,"unasked":false}');
INSERT INTO "event" VALUES(31,3,30,1,1795000014458995,'launch','info',1,NULL,NULL,NULL,'{"type":"launch","epoch":1,"world_size":2,"store_host":"127.0.0.1","store_port":4000}');
INSERT INTO "event" VALUES(32,3,31,1,1795000014658995,'rank_started','info',1,0,0,NULL,'{"type":"rank_started","epoch":1,"node":0,"rank":0,"pid":300,"start_step":12,"facts":{},"cpus":""}');
INSERT INTO "event" VALUES(33,3,32,1,1795000014858995,'rank_started','info',1,0,1,NULL,'{"type":"rank_started","epoch":1,"node":0,"rank":1,"pid":301,"start_step":12,"facts":{},"cpus":""}');
INSERT INTO "event" VALUES(34,3,45,1,1795000020052495,'notice','warning',0,0,0,0,'{"type":"notice","epoch":0,"node":0,"rank":0,"step":0,"kind":"clip_skipped","severity":"warning","detail":"clips/bad one.mp4: no moov atom, 0 of 8 frames"}');
INSERT INTO "event" VALUES(35,3,46,1,1795000020102495,'checkpoint','info',1,NULL,NULL,24,'{"type":"checkpoint","epoch":1,"step":24,"path":"checkpoints/b","seconds":7E-2,"bytes":1258291}');
INSERT INTO "event" VALUES(36,3,47,1,1795000020102495,'node_finished','info',1,0,NULL,NULL,'{"type":"node_finished","epoch":1,"node":0,"steps":24,"stopped":false}');
INSERT INTO "event" VALUES(37,3,48,1,1795000020202495,'node_stopped','info',1,0,NULL,NULL,'{"type":"node_stopped","epoch":1,"node":0,"processes_left":0,"unasked":false}');
INSERT INTO "event" VALUES(38,3,49,1,1795000020302495,'ended','info',NULL,NULL,NULL,NULL,'{"type":"ended","verdict":"ok","exit_code":0,"cause":""}');
CREATE TABLE fingerprint(
  fp_id INTEGER PRIMARY KEY,
  sha256 TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK(kind IN('config','software','env','hardware')),
  n_items INT NOT NULL) STRICT;
INSERT INTO "fingerprint" VALUES(1,'55815dd31839df2bbd32e1bfbfd0dc21509af37fcd1dd8e2813575d7862b11f7','config',4);
INSERT INTO "fingerprint" VALUES(2,'636e0bb862633250892cce92e166c5c99c467104259f67ad14323e618bab1cf4','software',1);
INSERT INTO "fingerprint" VALUES(3,'2e12565171816aef446dc1763f371be6a2afafc9763ebcf8dd7e0ef0d50bc197','hardware',2);
CREATE TABLE fp_item(
  fp_id INT NOT NULL REFERENCES fingerprint ON DELETE CASCADE,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY(fp_id,key)) STRICT, WITHOUT ROWID;
INSERT INTO "fp_item" VALUES(1,'data.manifest','clips.csv');
INSERT INTO "fp_item" VALUES(1,'model.arch','stdit3-tiny');
INSERT INTO "fp_item" VALUES(1,'run.job','train');
INSERT INTO "fp_item" VALUES(1,'run.name','demo');
INSERT INTO "fp_item" VALUES(2,'osora.commit','0123456789abcdef0123456789abcdef01234567');
INSERT INTO "fp_item" VALUES(3,'cpus','4');
INSERT INTO "fp_item" VALUES(3,'device','cpu');
CREATE TABLE gpu_health(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  sequence INT NOT NULL,
  gpu INT NOT NULL,
  temperature_c REAL, power_w REAL, sm_mhz REAL,
  throttle_reasons INT NOT NULL, ecc_uncorrected INT NOT NULL, memory_used_bytes INT NOT NULL,
  xids TEXT NOT NULL,
  PRIMARY KEY(run_id,sequence,gpu)) STRICT, WITHOUT ROWID;
CREATE TABLE investigation(
  investigation_id INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL, series TEXT NOT NULL, good_uuid TEXT NOT NULL, bad_uuid TEXT NOT NULL,
  rung TEXT NOT NULL, steps INT NOT NULL,
  ended_us INT, verdict TEXT, relation TEXT, -- NULL: it has not ended
  p REAL, explained REAL, good_s REAL, bad_s REAL) STRICT;
CREATE TABLE investigation_file(
  path TEXT PRIMARY KEY,
  size_bytes INT NOT NULL, mtime_ns INT NOT NULL, problem TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE journal(
  path TEXT PRIMARY KEY,
  run_id INT REFERENCES run ON DELETE CASCADE,
  size_bytes INT NOT NULL, mtime_ns INT NOT NULL,
  offset INT NOT NULL, next_sequence INT NOT NULL,
  tail_sha256 TEXT NOT NULL, problem TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "journal" VALUES('/state/runs/demo-0001/journal',1,24548,1795385791598093324,24548,34,'24759918769b5b3900d7e0de9076baa22e9d1879e6228a981bd15481878ceeab','');
INSERT INTO "journal" VALUES('/state/runs/demo-0002/journal',2,24959,1795385791606093325,24959,34,'24daed9f053bcafb4a044b070e1c54ab2c36fd6513774894520e9d9029ea4c0d','');
INSERT INTO "journal" VALUES('/state/runs/demo-0003/journal',3,33043,1795385791610093325,33043,50,'8a82ac5499878f52f507a4da8697274c71bcf64b32b331b7522775e74b70b983','');
CREATE TABLE kept(
  uuid TEXT PRIMARY KEY,
  next_sequence INT NOT NULL, -- of its journal at that time
  steps INT NOT NULL, matrices INT NOT NULL, -- 1: steps were thinned, matrices taken
  figures TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE launch(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  epoch INT NOT NULL,
  nodes INT, first_step_us INT, last_step_us INT,
  PRIMARY KEY(run_id,epoch)) STRICT, WITHOUT ROWID;
INSERT INTO "launch" VALUES(1,0,1,1795000001651000,NULL);
INSERT INTO "launch" VALUES(2,0,1,1795000001948000,NULL);
INSERT INTO "launch" VALUES(3,0,1,1795000001851000,NULL);
INSERT INTO "launch" VALUES(3,1,1,NULL,NULL);
CREATE TABLE measured(
  run_id INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
  steps INT NOT NULL, next_step INT NOT NULL, warmup_steps INT NOT NULL,
  steps_used INT NOT NULL, steps_incomplete INT NOT NULL,
  steps_repeated INT NOT NULL, steps_undone INT NOT NULL,
  step_s_median REAL, step_s_mad REAL, step_s_mix REAL, samples_per_s REAL,
  data_share REAL, comm_share REAL, wait_share REAL,
  loss_window INT NOT NULL, loss_first REAL, loss_last REAL,
  rss_bytes INT NOT NULL, peak_allocated_bytes INT NOT NULL) STRICT;
INSERT INTO "measured" VALUES(1,24,24,5,19,0,0,0,0.4975,4.99999999999994892974e-03,4.36842105263157920447e-01,1.78313253012048171801e+01,2.00000000000000073552e-02,0.0,0.0,12,7.56521739130434855979e-01,4.43478260869565155122e-01,1300000000,0);
INSERT INTO "measured" VALUES(2,24,24,5,19,0,0,0,0.6965,6.99999999999989519494e-03,6.05263157894736836261e-01,1.28695652173913046569e+01,0.3,0.0,0.0,12,7.56521739130434855979e-01,4.43478260869565155122e-01,1300000000,0);
INSERT INTO "measured" VALUES(3,24,24,6,18,0,8,0,0.4975,3.74999999999997557509e-03,4.33333333333333348136e-01,1.84615384615384634514e+01,2.00000000000000038857e-02,0.0,0.0,12,7.56521739130434855979e-01,4.43478260869565155122e-01,1300000000,0);
CREATE TABLE measured_bucket(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  bucket TEXT NOT NULL,
  steps INT NOT NULL, samples_per_step REAL, step_s_median REAL, step_s_mad REAL,
  PRIMARY KEY(run_id,bucket)) STRICT, WITHOUT ROWID;
INSERT INTO "measured_bucket" VALUES(1,'64x64x1',6,16.0,0.3,1.49999999999997357669e-03);
INSERT INTO "measured_bucket" VALUES(1,'64x64x8',13,4.0,0.5,2.50000000000000222044e-03);
INSERT INTO "measured_bucket" VALUES(2,'64x64x1',6,16.0,0.4,2.00000000000000177635e-03);
INSERT INTO "measured_bucket" VALUES(2,'64x64x8',13,4.0,0.7,3.49999999999994759747e-03);
INSERT INTO "measured_bucket" VALUES(3,'64x64x1',6,16.0,0.3,1.49999999999997357669e-03);
INSERT INTO "measured_bucket" VALUES(3,'64x64x8',12,4.0,0.5,2.49999999999997446487e-03);
CREATE TABLE metric(
  metric_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE, unit TEXT NOT NULL) STRICT;
INSERT INTO "metric" VALUES(1,'backward_s','s');
INSERT INTO "metric" VALUES(2,'data_wait_s','s');
INSERT INTO "metric" VALUES(3,'exposed_comm_s','s');
INSERT INTO "metric" VALUES(4,'forward_s','s');
INSERT INTO "metric" VALUES(5,'loss','1');
INSERT INTO "metric" VALUES(6,'optimizer_s','s');
INSERT INTO "metric" VALUES(7,'other_s','s');
INSERT INTO "metric" VALUES(8,'rss_bytes','bytes');
INSERT INTO "metric" VALUES(9,'step_time_s','s');
CREATE TABLE node(
  node_id INTEGER PRIMARY KEY,
  hostname TEXT NOT NULL UNIQUE,
  first_seen_us INT NOT NULL, last_seen_us INT NOT NULL) STRICT;
INSERT INTO "node" VALUES(1,'n0',1795000000060000,1795000000060000);
CREATE TABLE node_health(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  sequence INT NOT NULL, -- of the journal
  wall_us INT NOT NULL, node INT NOT NULL, why TEXT NOT NULL,
  load REAL, memory_available_bytes INT, cgroup_memory_bytes INT, disk_free_bytes INT,
  PRIMARY KEY(run_id,sequence)) STRICT, WITHOUT ROWID;
CREATE TABLE plan(
  run_id INTEGER PRIMARY KEY REFERENCES run ON DELETE CASCADE,
  tp_size INT NOT NULL, pp_size INT NOT NULL, sp_size INT NOT NULL, dp_size INT NOT NULL,
  zero_stage INT NOT NULL, recompute TEXT NOT NULL, activation_store TEXT NOT NULL,
  num_workers INT NOT NULL, threads_per_rank INT NOT NULL,
  step_time_s REAL, step_time_error REAL, compute_s REAL, exposed_comm_s REAL, bubble_s REAL,
  loader_s REAL, peak_memory_gib REAL, host_memory_gib REAL, samples_per_s REAL) STRICT;
INSERT INTO "plan" VALUES(1,1,1,1,1,0,'','',1,1,0.42,0.25,0.378,0.021,NULL,0.0,1.25,NULL,20.0);
INSERT INTO "plan" VALUES(2,1,1,1,1,0,'','',1,1,0.42,0.25,0.378,0.021,NULL,0.0,1.25,NULL,20.0);
INSERT INTO "plan" VALUES(3,1,1,1,2,0,'','',1,1,0.42,0.25,0.378,0.021,NULL,0.0,1.25,NULL,20.0);
CREATE TABLE plan_bucket(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  ordinal INT NOT NULL,
  resolution TEXT NOT NULL, num_frames INT NOT NULL, height INT NOT NULL, width INT NOT NULL,
  micro_batch_size INT NOT NULL, grad_accum_steps INT NOT NULL, global_batch_size INT NOT NULL,
  gflop_per_sample REAL, step_time_s REAL, peak_memory_gib REAL,
  PRIMARY KEY(run_id,ordinal)) STRICT, WITHOUT ROWID;
INSERT INTO "plan_bucket" VALUES(1,0,'64',1,64,64,16,1,16,NULL,0.28,NULL);
INSERT INTO "plan_bucket" VALUES(1,1,'64',8,64,64,4,1,4,NULL,0.49,NULL);
INSERT INTO "plan_bucket" VALUES(2,0,'64',1,64,64,16,1,16,NULL,0.28,NULL);
INSERT INTO "plan_bucket" VALUES(2,1,'64',8,64,64,4,1,4,NULL,0.49,NULL);
INSERT INTO "plan_bucket" VALUES(3,0,'64',1,64,64,8,1,16,NULL,0.28,NULL);
INSERT INTO "plan_bucket" VALUES(3,1,'64',8,64,64,2,1,4,NULL,0.49,NULL);
CREATE TABLE probe_collective(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  sequence INT NOT NULL, ordinal INT NOT NULL,
  backend TEXT NOT NULL, collective TEXT NOT NULL,
  ranks INT NOT NULL, nodes INT NOT NULL,
  size_bytes INT NOT NULL, time_us REAL NOT NULL,
  PRIMARY KEY(run_id,sequence,ordinal)) STRICT, WITHOUT ROWID;
CREATE TABLE probe_finding(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  ordinal INT NOT NULL,
  kind TEXT NOT NULL, place TEXT NOT NULL, nodes TEXT NOT NULL, -- JSON: names
  ratio REAL NOT NULL, evidence TEXT NOT NULL,
  PRIMARY KEY(run_id,ordinal)) STRICT, WITHOUT ROWID;
CREATE TABLE probe_node(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  node INT NOT NULL, hostname TEXT NOT NULL, leaf TEXT NOT NULL,
  gbit_s REAL NOT NULL, of_median REAL NOT NULL, samples INT NOT NULL, bad INT NOT NULL,
  interface TEXT NOT NULL,
  PRIMARY KEY(run_id,node)) STRICT, WITHOUT ROWID;
CREATE TABLE probe_pair(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  sequence INT NOT NULL, ordinal INT NOT NULL, -- of the journal; in its record
  stage TEXT NOT NULL, round INT NOT NULL,
  from_node INT NOT NULL, to_node INT NOT NULL,
  transport TEXT NOT NULL, interface TEXT NOT NULL, network TEXT NOT NULL,
  size_bytes INT NOT NULL, seconds REAL NOT NULL, latency_us REAL,
  PRIMARY KEY(run_id,sequence,ordinal)) STRICT, WITHOUT ROWID;
CREATE TABLE probe_storage(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  sequence INT NOT NULL, ordinal INT NOT NULL,
  node INT NOT NULL, alone INT NOT NULL, path TEXT NOT NULL,
  read_bytes_per_s REAL NOT NULL, open_us REAL NOT NULL, files INT NOT NULL,
  PRIMARY KEY(run_id,sequence,ordinal)) STRICT, WITHOUT ROWID;
CREATE TABLE rank_matrix(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  metric_id INT NOT NULL REFERENCES metric,
  sequence INT NOT NULL, -- of the journal
  epoch INT NOT NULL, step0 INT NOT NULL, steps INT NOT NULL,
  node INT NOT NULL, first_rank INT NOT NULL, ranks INT NOT NULL,
  data BLOB NOT NULL,
  PRIMARY KEY(run_id,metric_id,sequence)) STRICT, WITHOUT ROWID;
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
INSERT INTO "run" VALUES(1,'00000000-0000-4000-8000-000000000001',1,'demo-0001',1,'train','stdit3-tiny','ada','n0','/state/runs/demo-0001',1795000000000000,1795000000010000,1795000001651000,1795000015556495,1795000015556495,'ok',0,'',1,1,24,3,1,0,1,1,'n0','boot-0',100,1,2,NULL,3);
INSERT INTO "run" VALUES(2,'00000000-0000-4000-8000-000000000002',2,'demo-0002',1,'train','stdit3-tiny','ada','n0','/state/runs/demo-0002',1795000000000000,1795000000010000,1795000001948000,1795000021135995,1795000021135995,'ok',0,'',1,1,24,3,1,0,1,1,'n0','boot-0',100,1,2,NULL,3);
INSERT INTO "run" VALUES(3,'00000000-0000-4000-8000-000000000003',3,'demo-0003',1,'train','stdit3-tiny','ada','n0','/state/runs/demo-0003',1795000000000000,1795000000010000,1795000001851000,1795000020302495,1795000020302495,'ok',0,'',1,2,24,3,1,1,2,1,'n0','boot-0',100,1,2,NULL,3);
CREATE TABLE run_node(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  node INT NOT NULL,
  node_id INT REFERENCES node,
  boot_id TEXT NOT NULL, cores INT,
  metric_epoch INT NOT NULL, metric_step INT NOT NULL,
  PRIMARY KEY(run_id,node)) STRICT, WITHOUT ROWID;
INSERT INTO "run_node" VALUES(1,0,1,'boot-0',4,0,24);
INSERT INTO "run_node" VALUES(2,0,1,'boot-0',4,0,24);
INSERT INTO "run_node" VALUES(3,0,1,'boot-0',4,1,24);
CREATE TABLE run_rank(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  rank INT NOT NULL,
  node INT NOT NULL, epoch INT NOT NULL, pid INT NOT NULL, start_step INT NOT NULL,
  device TEXT NOT NULL, cpus TEXT NOT NULL DEFAULT '',
  PRIMARY KEY(run_id,rank)) STRICT, WITHOUT ROWID;
INSERT INTO "run_rank" VALUES(1,0,0,0,300,0,'cpu','');
INSERT INTO "run_rank" VALUES(2,0,0,0,300,0,'cpu','');
INSERT INTO "run_rank" VALUES(3,0,0,1,300,12,'cpu','');
INSERT INTO "run_rank" VALUES(3,1,0,1,301,12,'cpu','');
CREATE TABLE run_window(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  ordinal INT NOT NULL,
  epoch INT NOT NULL, first_step INT NOT NULL, last_step INT NOT NULL,
  nodes INT, ranks INT NOT NULL,
  buckets TEXT NOT NULL, -- JSON: steps of each
  steps INT NOT NULL, steps_used INT NOT NULL,
  step_s_median REAL, step_s_mad REAL, samples_per_s REAL,
  PRIMARY KEY(run_id,ordinal)) STRICT, WITHOUT ROWID;
INSERT INTO "run_window" VALUES(1,0,0,0,23,1,1,'{"64x64x1":8,"64x64x8":16}',24,19,0.4975,4.99999999999994892974e-03,1.78313253012048171801e+01);
INSERT INTO "run_window" VALUES(2,0,0,0,23,1,1,'{"64x64x1":8,"64x64x8":16}',24,19,0.6965,6.99999999999989519494e-03,1.28695652173913046569e+01);
INSERT INTO "run_window" VALUES(3,0,0,0,11,1,2,'{"64x64x1":4,"64x64x8":8}',12,9,0.5,2.50000000000000222044e-03,1.84049079754601230263e+01);
INSERT INTO "run_window" VALUES(3,1,1,12,23,1,2,'{"64x64x1":4,"64x64x8":8}',12,9,0.495,5.00000000000000444089e-03,1.8554310011596445662e+01);
CREATE TABLE series(
  series_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  work_sha256 TEXT NOT NULL,
  work TEXT NOT NULL, -- JSON: flat key = value
  UNIQUE(name,work_sha256)) STRICT;
INSERT INTO "series" VALUES(1,'demo','60bd82b656968ae66f1d6ab01a5ab4f131eed432a60c9e28c23be9d24c7ef6eb','{"data.manifest":"clips.csv","model.arch":"stdit3-tiny","run.job":"train"}');
CREATE TABLE span(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  ordinal INT NOT NULL,
  name TEXT NOT NULL, epoch INT, step INT, from_us INT NOT NULL, to_us INT NOT NULL,
  PRIMARY KEY(run_id,ordinal)) STRICT, WITHOUT ROWID;
INSERT INTO "span" VALUES(1,0,'agents',NULL,NULL,1795000000010000,1795000000060000);
INSERT INTO "span" VALUES(1,1,'start',0,0,1795000000560000,1795000000760000);
INSERT INTO "span" VALUES(1,2,'first_step',0,0,1795000000760000,1795000001651000);
INSERT INTO "span" VALUES(1,3,'checkpoint',0,24,1795000015286495,1795000015356495);
INSERT INTO "span" VALUES(2,0,'agents',NULL,NULL,1795000000010000,1795000000060000);
INSERT INTO "span" VALUES(2,1,'start',0,0,1795000000560000,1795000000760000);
INSERT INTO "span" VALUES(2,2,'first_step',0,0,1795000000760000,1795000001948000);
INSERT INTO "span" VALUES(2,3,'checkpoint',0,24,1795000020865995,1795000020935995);
INSERT INTO "span" VALUES(3,0,'agents',NULL,NULL,1795000000010000,1795000000060000);
INSERT INTO "span" VALUES(3,1,'start',0,0,1795000000560000,1795000000960000);
INSERT INTO "span" VALUES(3,2,'first_step',0,0,1795000000960000,1795000001851000);
INSERT INTO "span" VALUES(3,3,'checkpoint',0,12,1795000010312995,1795000010362995);
INSERT INTO "span" VALUES(3,4,'relaunch',1,12,1795000013858995,1795000014858995);
INSERT INTO "span" VALUES(3,5,'start',1,12,1795000014458995,1795000014858995);
INSERT INTO "span" VALUES(3,6,'checkpoint',1,24,1795000020032495,1795000020102495);
CREATE TABLE stale(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  what TEXT NOT NULL CHECK(what IN('spans','windows')),
  PRIMARY KEY(run_id,what)) STRICT, WITHOUT ROWID;
CREATE TABLE stale_series(
  series_id INTEGER PRIMARY KEY REFERENCES series ON DELETE CASCADE) STRICT;
CREATE TABLE step(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  step INT NOT NULL,
  epoch INT NOT NULL, ranks INT NOT NULL, samples INT NOT NULL, bucket TEXT NOT NULL,
  repeated INT NOT NULL,
  PRIMARY KEY(run_id,step)) STRICT, WITHOUT ROWID;
INSERT INTO "step" VALUES(1,0,0,1,16,'64x64x1',0);
INSERT INTO "step" VALUES(1,1,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(1,2,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(1,3,0,1,16,'64x64x1',0);
INSERT INTO "step" VALUES(1,4,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(1,5,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(1,6,0,1,16,'64x64x1',0);
INSERT INTO "step" VALUES(1,7,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(1,8,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(1,9,0,1,16,'64x64x1',0);
INSERT INTO "step" VALUES(1,10,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(1,11,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(1,12,0,1,16,'64x64x1',0);
INSERT INTO "step" VALUES(1,13,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(1,14,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(1,15,0,1,16,'64x64x1',0);
INSERT INTO "step" VALUES(1,16,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(1,17,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(1,18,0,1,16,'64x64x1',0);
INSERT INTO "step" VALUES(1,19,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(1,20,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(1,21,0,1,16,'64x64x1',0);
INSERT INTO "step" VALUES(1,22,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(1,23,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(2,0,0,1,16,'64x64x1',0);
INSERT INTO "step" VALUES(2,1,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(2,2,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(2,3,0,1,16,'64x64x1',0);
INSERT INTO "step" VALUES(2,4,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(2,5,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(2,6,0,1,16,'64x64x1',0);
INSERT INTO "step" VALUES(2,7,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(2,8,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(2,9,0,1,16,'64x64x1',0);
INSERT INTO "step" VALUES(2,10,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(2,11,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(2,12,0,1,16,'64x64x1',0);
INSERT INTO "step" VALUES(2,13,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(2,14,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(2,15,0,1,16,'64x64x1',0);
INSERT INTO "step" VALUES(2,16,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(2,17,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(2,18,0,1,16,'64x64x1',0);
INSERT INTO "step" VALUES(2,19,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(2,20,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(2,21,0,1,16,'64x64x1',0);
INSERT INTO "step" VALUES(2,22,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(2,23,0,1,4,'64x64x8',0);
INSERT INTO "step" VALUES(3,0,0,2,16,'64x64x1',0);
INSERT INTO "step" VALUES(3,1,0,2,4,'64x64x8',0);
INSERT INTO "step" VALUES(3,2,0,2,4,'64x64x8',0);
INSERT INTO "step" VALUES(3,3,0,2,16,'64x64x1',0);
INSERT INTO "step" VALUES(3,4,0,2,4,'64x64x8',0);
INSERT INTO "step" VALUES(3,5,0,2,4,'64x64x8',0);
INSERT INTO "step" VALUES(3,6,0,2,16,'64x64x1',0);
INSERT INTO "step" VALUES(3,7,0,2,4,'64x64x8',0);
INSERT INTO "step" VALUES(3,8,0,2,4,'64x64x8',0);
INSERT INTO "step" VALUES(3,9,0,2,16,'64x64x1',0);
INSERT INTO "step" VALUES(3,10,0,2,4,'64x64x8',0);
INSERT INTO "step" VALUES(3,11,0,2,4,'64x64x8',0);
INSERT INTO "step" VALUES(3,12,1,2,16,'64x64x1',1);
INSERT INTO "step" VALUES(3,13,1,2,4,'64x64x8',1);
INSERT INTO "step" VALUES(3,14,1,2,4,'64x64x8',1);
INSERT INTO "step" VALUES(3,15,1,2,16,'64x64x1',1);
INSERT INTO "step" VALUES(3,16,1,2,4,'64x64x8',1);
INSERT INTO "step" VALUES(3,17,1,2,4,'64x64x8',1);
INSERT INTO "step" VALUES(3,18,1,2,16,'64x64x1',1);
INSERT INTO "step" VALUES(3,19,1,2,4,'64x64x8',1);
INSERT INTO "step" VALUES(3,20,1,2,4,'64x64x8',0);
INSERT INTO "step" VALUES(3,21,1,2,16,'64x64x1',0);
INSERT INTO "step" VALUES(3,22,1,2,4,'64x64x8',0);
INSERT INTO "step" VALUES(3,23,1,2,4,'64x64x8',0);
CREATE TABLE step_summary(
  run_id INT NOT NULL REFERENCES run ON DELETE CASCADE,
  metric_id INT NOT NULL REFERENCES metric,
  step INT NOT NULL,
  n INT NOT NULL, mean REAL, vmin REAL, vmax REAL, argmax INT,
  PRIMARY KEY(run_id,metric_id,step)) STRICT, WITHOUT ROWID;
INSERT INTO "step_summary" VALUES(1,1,0,1,0.523908,0.523908,0.523908,0);
INSERT INTO "step_summary" VALUES(1,1,1,1,8.73179999999999845172e-01,8.73179999999999845172e-01,8.73179999999999845172e-01,0);
INSERT INTO "step_summary" VALUES(1,1,2,1,8.73179999999999845172e-01,8.73179999999999845172e-01,8.73179999999999845172e-01,0);
INSERT INTO "step_summary" VALUES(1,1,3,1,0.526554,0.526554,0.526554,0);
INSERT INTO "step_summary" VALUES(1,1,4,1,0.87759,0.87759,0.87759,0);
INSERT INTO "step_summary" VALUES(1,1,5,1,2.92529999999999956727e-01,2.92529999999999956727e-01,2.92529999999999956727e-01,0);
INSERT INTO "step_summary" VALUES(1,1,6,1,1.76399999999999973487e-01,1.76399999999999973487e-01,1.76399999999999973487e-01,0);
INSERT INTO "step_summary" VALUES(1,1,7,1,0.294,0.294,0.294,0);
INSERT INTO "step_summary" VALUES(1,1,8,1,0.294,0.294,0.294,0);
INSERT INTO "step_summary" VALUES(1,1,9,1,1.77281999999999967387e-01,1.77281999999999967387e-01,1.77281999999999967387e-01,0);
INSERT INTO "step_summary" VALUES(1,1,10,1,2.95469999999999954898e-01,2.95469999999999954898e-01,2.95469999999999954898e-01,0);
INSERT INTO "step_summary" VALUES(1,1,11,1,2.95469999999999954898e-01,2.95469999999999954898e-01,2.95469999999999954898e-01,0);
INSERT INTO "step_summary" VALUES(1,1,12,1,0.178164,0.178164,0.178164,0);
INSERT INTO "step_summary" VALUES(1,1,13,1,0.29694,0.29694,0.29694,0);
INSERT INTO "step_summary" VALUES(1,1,14,1,0.29694,0.29694,0.29694,0);
INSERT INTO "step_summary" VALUES(1,1,15,1,0.174636,0.174636,0.174636,0);
INSERT INTO "step_summary" VALUES(1,1,16,1,0.29106,0.29106,0.29106,0);
INSERT INTO "step_summary" VALUES(1,1,17,1,0.29106,0.29106,0.29106,0);
INSERT INTO "step_summary" VALUES(1,1,18,1,0.175518,0.175518,0.175518,0);
INSERT INTO "step_summary" VALUES(1,1,19,1,2.92529999999999956727e-01,2.92529999999999956727e-01,2.92529999999999956727e-01,0);
INSERT INTO "step_summary" VALUES(1,1,20,1,2.92529999999999956727e-01,2.92529999999999956727e-01,2.92529999999999956727e-01,0);
INSERT INTO "step_summary" VALUES(1,1,21,1,1.76399999999999973487e-01,1.76399999999999973487e-01,1.76399999999999973487e-01,0);
INSERT INTO "step_summary" VALUES(1,1,22,1,0.294,0.294,0.294,0);
INSERT INTO "step_summary" VALUES(1,1,23,1,0.294,0.294,0.294,0);
INSERT INTO "step_summary" VALUES(1,2,0,1,0.01782,0.01782,0.01782,0);
INSERT INTO "step_summary" VALUES(1,2,1,1,2.96999999999999972355e-02,2.96999999999999972355e-02,2.96999999999999972355e-02,0);
INSERT INTO "step_summary" VALUES(1,2,2,1,2.96999999999999972355e-02,2.96999999999999972355e-02,2.96999999999999972355e-02,0);
INSERT INTO "step_summary" VALUES(1,2,3,1,0.01791,0.01791,0.01791,0);
INSERT INTO "step_summary" VALUES(1,2,4,1,0.02985,0.02985,0.02985,0);
INSERT INTO "step_summary" VALUES(1,2,5,1,0.00995,0.00995,0.00995,0);
INSERT INTO "step_summary" VALUES(1,2,6,1,0.006,0.006,0.006,0);
INSERT INTO "step_summary" VALUES(1,2,7,1,0.01,0.01,0.01,0);
INSERT INTO "step_summary" VALUES(1,2,8,1,0.01,0.01,0.01,0);
INSERT INTO "step_summary" VALUES(1,2,9,1,6.02999999999999890254e-03,6.02999999999999890254e-03,6.02999999999999890254e-03,0);
INSERT INTO "step_summary" VALUES(1,2,10,1,0.01005,0.01005,0.01005,0);
INSERT INTO "step_summary" VALUES(1,2,11,1,0.01005,0.01005,0.01005,0);
INSERT INTO "step_summary" VALUES(1,2,12,1,0.00606,0.00606,0.00606,0);
INSERT INTO "step_summary" VALUES(1,2,13,1,0.0101,0.0101,0.0101,0);
INSERT INTO "step_summary" VALUES(1,2,14,1,0.0101,0.0101,0.0101,0);
INSERT INTO "step_summary" VALUES(1,2,15,1,0.00594,0.00594,0.00594,0);
INSERT INTO "step_summary" VALUES(1,2,16,1,0.0099,0.0099,0.0099,0);
INSERT INTO "step_summary" VALUES(1,2,17,1,0.0099,0.0099,0.0099,0);
INSERT INTO "step_summary" VALUES(1,2,18,1,0.00597,0.00597,0.00597,0);
INSERT INTO "step_summary" VALUES(1,2,19,1,0.00995,0.00995,0.00995,0);
INSERT INTO "step_summary" VALUES(1,2,20,1,0.00995,0.00995,0.00995,0);
INSERT INTO "step_summary" VALUES(1,2,21,1,0.006,0.006,0.006,0);
INSERT INTO "step_summary" VALUES(1,2,22,1,0.01,0.01,0.01,0);
INSERT INTO "step_summary" VALUES(1,2,23,1,0.01,0.01,0.01,0);
INSERT INTO "step_summary" VALUES(1,3,0,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,1,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,2,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,3,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,4,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,5,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,6,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,7,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,8,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,9,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,10,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,11,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,12,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,13,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,14,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,15,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,16,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,17,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,18,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,19,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,20,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,21,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,22,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,3,23,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(1,4,0,1,0.261954,0.261954,0.261954,0);
INSERT INTO "step_summary" VALUES(1,4,1,1,4.36589999999999922586e-01,4.36589999999999922586e-01,4.36589999999999922586e-01,0);
INSERT INTO "step_summary" VALUES(1,4,2,1,4.36589999999999922586e-01,4.36589999999999922586e-01,4.36589999999999922586e-01,0);
INSERT INTO "step_summary" VALUES(1,4,3,1,0.263277,0.263277,0.263277,0);
INSERT INTO "step_summary" VALUES(1,4,4,1,0.438795,0.438795,0.438795,0);
INSERT INTO "step_summary" VALUES(1,4,5,1,1.46264999999999978363e-01,1.46264999999999978363e-01,1.46264999999999978363e-01,0);
INSERT INTO "step_summary" VALUES(1,4,6,1,8.81999999999999867439e-02,8.81999999999999867439e-02,8.81999999999999867439e-02,0);
INSERT INTO "step_summary" VALUES(1,4,7,1,0.147,0.147,0.147,0);
INSERT INTO "step_summary" VALUES(1,4,8,1,0.147,0.147,0.147,0);
INSERT INTO "step_summary" VALUES(1,4,9,1,8.86409999999999836939e-02,8.86409999999999836939e-02,8.86409999999999836939e-02,0);
INSERT INTO "step_summary" VALUES(1,4,10,1,1.47734999999999977449e-01,1.47734999999999977449e-01,1.47734999999999977449e-01,0);
INSERT INTO "step_summary" VALUES(1,4,11,1,1.47734999999999977449e-01,1.47734999999999977449e-01,1.47734999999999977449e-01,0);
INSERT INTO "step_summary" VALUES(1,4,12,1,0.089082,0.089082,0.089082,0);
INSERT INTO "step_summary" VALUES(1,4,13,1,0.14847,0.14847,0.14847,0);
INSERT INTO "step_summary" VALUES(1,4,14,1,0.14847,0.14847,0.14847,0);
INSERT INTO "step_summary" VALUES(1,4,15,1,8.73179999999999928439e-02,8.73179999999999928439e-02,8.73179999999999928439e-02,0);
INSERT INTO "step_summary" VALUES(1,4,16,1,0.14553,0.14553,0.14553,0);
INSERT INTO "step_summary" VALUES(1,4,17,1,0.14553,0.14553,0.14553,0);
INSERT INTO "step_summary" VALUES(1,4,18,1,0.087759,0.087759,0.087759,0);
INSERT INTO "step_summary" VALUES(1,4,19,1,1.46264999999999978363e-01,1.46264999999999978363e-01,1.46264999999999978363e-01,0);
INSERT INTO "step_summary" VALUES(1,4,20,1,1.46264999999999978363e-01,1.46264999999999978363e-01,1.46264999999999978363e-01,0);
INSERT INTO "step_summary" VALUES(1,4,21,1,8.81999999999999867439e-02,8.81999999999999867439e-02,8.81999999999999867439e-02,0);
INSERT INTO "step_summary" VALUES(1,4,22,1,0.147,0.147,0.147,0);
INSERT INTO "step_summary" VALUES(1,4,23,1,0.147,0.147,0.147,0);
INSERT INTO "step_summary" VALUES(1,5,0,1,0.9,0.9,0.9,0);
INSERT INTO "step_summary" VALUES(1,5,1,1,8.73913043478260931351e-01,8.73913043478260931351e-01,8.73913043478260931351e-01,0);
INSERT INTO "step_summary" VALUES(1,5,2,1,8.47826086956521729476e-01,8.47826086956521729476e-01,8.47826086956521729476e-01,0);
INSERT INTO "step_summary" VALUES(1,5,3,1,8.21739130434782638623e-01,8.21739130434782638623e-01,8.21739130434782638623e-01,0);
INSERT INTO "step_summary" VALUES(1,5,4,1,7.9565217391304354777e-01,7.9565217391304354777e-01,7.9565217391304354777e-01,0);
INSERT INTO "step_summary" VALUES(1,5,5,1,7.69565217391304345895e-01,7.69565217391304345895e-01,7.69565217391304345895e-01,0);
INSERT INTO "step_summary" VALUES(1,5,6,1,7.43478260869565255042e-01,7.43478260869565255042e-01,7.43478260869565255042e-01,0);
INSERT INTO "step_summary" VALUES(1,5,7,1,0.717391304347826,0.717391304347826,0.717391304347826,0);
INSERT INTO "step_summary" VALUES(1,5,8,1,0.691304347826087,0.691304347826087,0.691304347826087,0);
INSERT INTO "step_summary" VALUES(1,5,9,1,6.65217391304347760438e-01,6.65217391304347760438e-01,6.65217391304347760438e-01,0);
INSERT INTO "step_summary" VALUES(1,5,10,1,6.39130434782608669586e-01,6.39130434782608669586e-01,6.39130434782608669586e-01,0);
INSERT INTO "step_summary" VALUES(1,5,11,1,6.13043478260869578733e-01,6.13043478260869578733e-01,6.13043478260869578733e-01,0);
INSERT INTO "step_summary" VALUES(1,5,12,1,5.86956521739130376857e-01,5.86956521739130376857e-01,5.86956521739130376857e-01,0);
INSERT INTO "step_summary" VALUES(1,5,13,1,5.60869565217391286005e-01,5.60869565217391286005e-01,5.60869565217391286005e-01,0);
INSERT INTO "step_summary" VALUES(1,5,14,1,5.34782608695652195152e-01,5.34782608695652195152e-01,5.34782608695652195152e-01,0);
INSERT INTO "step_summary" VALUES(1,5,15,1,0.508695652173913,0.508695652173913,0.508695652173913,0);
INSERT INTO "step_summary" VALUES(1,5,16,1,4.82608695652173902423e-01,4.82608695652173902423e-01,4.82608695652173902423e-01,0);
INSERT INTO "step_summary" VALUES(1,5,17,1,4.56521739130434700548e-01,4.56521739130434700548e-01,4.56521739130434700548e-01,0);
INSERT INTO "step_summary" VALUES(1,5,18,1,4.30434782608695609695e-01,4.30434782608695609695e-01,4.30434782608695609695e-01,0);
INSERT INTO "step_summary" VALUES(1,5,19,1,4.04347826086956463331e-01,4.04347826086956463331e-01,4.04347826086956463331e-01,0);
INSERT INTO "step_summary" VALUES(1,5,20,1,3.78260869565217316967e-01,3.78260869565217316967e-01,3.78260869565217316967e-01,0);
INSERT INTO "step_summary" VALUES(1,5,21,1,3.52173913043478226114e-01,3.52173913043478226114e-01,3.52173913043478226114e-01,0);
INSERT INTO "step_summary" VALUES(1,5,22,1,0.326086956521739,0.326086956521739,0.326086956521739,0);
INSERT INTO "step_summary" VALUES(1,5,23,1,2.99999999999999933386e-01,2.99999999999999933386e-01,2.99999999999999933386e-01,0);
INSERT INTO "step_summary" VALUES(1,6,0,1,6.98544000000000109285e-02,6.98544000000000109285e-02,6.98544000000000109285e-02,0);
INSERT INTO "step_summary" VALUES(1,6,1,1,0.116424,0.116424,0.116424,0);
INSERT INTO "step_summary" VALUES(1,6,2,1,0.116424,0.116424,0.116424,0);
INSERT INTO "step_summary" VALUES(1,6,3,1,0.0702072,0.0702072,0.0702072,0);
INSERT INTO "step_summary" VALUES(1,6,4,1,0.117012,0.117012,0.117012,0);
INSERT INTO "step_summary" VALUES(1,6,5,1,0.039004,0.039004,0.039004,0);
INSERT INTO "step_summary" VALUES(1,6,6,1,0.02352,0.02352,0.02352,0);
INSERT INTO "step_summary" VALUES(1,6,7,1,0.0392,0.0392,0.0392,0);
INSERT INTO "step_summary" VALUES(1,6,8,1,0.0392,0.0392,0.0392,0);
INSERT INTO "step_summary" VALUES(1,6,9,1,0.0236376,0.0236376,0.0236376,0);
INSERT INTO "step_summary" VALUES(1,6,10,1,3.93959999999999935238e-02,3.93959999999999935238e-02,3.93959999999999935238e-02,0);
INSERT INTO "step_summary" VALUES(1,6,11,1,3.93959999999999935238e-02,3.93959999999999935238e-02,3.93959999999999935238e-02,0);
INSERT INTO "step_summary" VALUES(1,6,12,1,0.0237552,0.0237552,0.0237552,0);
INSERT INTO "step_summary" VALUES(1,6,13,1,0.039592,0.039592,0.039592,0);
INSERT INTO "step_summary" VALUES(1,6,14,1,0.039592,0.039592,0.039592,0);
INSERT INTO "step_summary" VALUES(1,6,15,1,0.0232848,0.0232848,0.0232848,0);
INSERT INTO "step_summary" VALUES(1,6,16,1,0.038808,0.038808,0.038808,0);
INSERT INTO "step_summary" VALUES(1,6,17,1,0.038808,0.038808,0.038808,0);
INSERT INTO "step_summary" VALUES(1,6,18,1,0.0234024,0.0234024,0.0234024,0);
INSERT INTO "step_summary" VALUES(1,6,19,1,0.039004,0.039004,0.039004,0);
INSERT INTO "step_summary" VALUES(1,6,20,1,0.039004,0.039004,0.039004,0);
INSERT INTO "step_summary" VALUES(1,6,21,1,0.02352,0.02352,0.02352,0);
INSERT INTO "step_summary" VALUES(1,6,22,1,0.0392,0.0392,0.0392,0);
INSERT INTO "step_summary" VALUES(1,6,23,1,0.0392,0.0392,0.0392,0);
INSERT INTO "step_summary" VALUES(1,7,0,1,1.74636000000000027321e-02,1.74636000000000027321e-02,1.74636000000000027321e-02,0);
INSERT INTO "step_summary" VALUES(1,7,1,1,2.91059999999999964581e-02,2.91059999999999964581e-02,2.91059999999999964581e-02,0);
INSERT INTO "step_summary" VALUES(1,7,2,1,2.91059999999999964581e-02,2.91059999999999964581e-02,2.91059999999999964581e-02,0);
INSERT INTO "step_summary" VALUES(1,7,3,1,0.0175518,0.0175518,0.0175518,0);
INSERT INTO "step_summary" VALUES(1,7,4,1,0.029253,0.029253,0.029253,0);
INSERT INTO "step_summary" VALUES(1,7,5,1,0.009751,0.009751,0.009751,0);
INSERT INTO "step_summary" VALUES(1,7,6,1,0.00588,0.00588,0.00588,0);
INSERT INTO "step_summary" VALUES(1,7,7,1,0.0098,0.0098,0.0098,0);
INSERT INTO "step_summary" VALUES(1,7,8,1,0.0098,0.0098,0.0098,0);
INSERT INTO "step_summary" VALUES(1,7,9,1,5.90939999999999954899e-03,5.90939999999999954899e-03,5.90939999999999954899e-03,0);
INSERT INTO "step_summary" VALUES(1,7,10,1,9.84899999999999838096e-03,9.84899999999999838096e-03,9.84899999999999838096e-03,0);
INSERT INTO "step_summary" VALUES(1,7,11,1,9.84899999999999838096e-03,9.84899999999999838096e-03,9.84899999999999838096e-03,0);
INSERT INTO "step_summary" VALUES(1,7,12,1,0.0059388,0.0059388,0.0059388,0);
INSERT INTO "step_summary" VALUES(1,7,13,1,0.009898,0.009898,0.009898,0);
INSERT INTO "step_summary" VALUES(1,7,14,1,0.009898,0.009898,0.009898,0);
INSERT INTO "step_summary" VALUES(1,7,15,1,5.8211999999999994651e-03,5.8211999999999994651e-03,5.8211999999999994651e-03,0);
INSERT INTO "step_summary" VALUES(1,7,16,1,0.009702,0.009702,0.009702,0);
INSERT INTO "step_summary" VALUES(1,7,17,1,0.009702,0.009702,0.009702,0);
INSERT INTO "step_summary" VALUES(1,7,18,1,0.0058506,0.0058506,0.0058506,0);
INSERT INTO "step_summary" VALUES(1,7,19,1,0.009751,0.009751,0.009751,0);
INSERT INTO "step_summary" VALUES(1,7,20,1,0.009751,0.009751,0.009751,0);
INSERT INTO "step_summary" VALUES(1,7,21,1,0.00588,0.00588,0.00588,0);
INSERT INTO "step_summary" VALUES(1,7,22,1,0.0098,0.0098,0.0098,0);
INSERT INTO "step_summary" VALUES(1,7,23,1,0.0098,0.0098,0.0098,0);
INSERT INTO "step_summary" VALUES(1,8,0,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,1,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,2,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,3,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,4,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,5,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,6,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,7,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,8,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,9,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,10,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,11,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,12,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,13,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,14,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,15,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,16,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,17,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,18,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,19,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,20,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,21,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,22,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,8,23,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(1,9,0,1,0.891,0.891,0.891,0);
INSERT INTO "step_summary" VALUES(1,9,1,1,1.485,1.485,1.485,0);
INSERT INTO "step_summary" VALUES(1,9,2,1,1.485,1.485,1.485,0);
INSERT INTO "step_summary" VALUES(1,9,3,1,0.8955,0.8955,0.8955,0);
INSERT INTO "step_summary" VALUES(1,9,4,1,1.4925,1.4925,1.4925,0);
INSERT INTO "step_summary" VALUES(1,9,5,1,0.4975,0.4975,0.4975,0);
INSERT INTO "step_summary" VALUES(1,9,6,1,0.3,0.3,0.3,0);
INSERT INTO "step_summary" VALUES(1,9,7,1,0.5,0.5,0.5,0);
INSERT INTO "step_summary" VALUES(1,9,8,1,0.5,0.5,0.5,0);
INSERT INTO "step_summary" VALUES(1,9,9,1,3.01499999999999934718e-01,3.01499999999999934718e-01,3.01499999999999934718e-01,0);
INSERT INTO "step_summary" VALUES(1,9,10,1,0.5025,0.5025,0.5025,0);
INSERT INTO "step_summary" VALUES(1,9,11,1,0.5025,0.5025,0.5025,0);
INSERT INTO "step_summary" VALUES(1,9,12,1,0.303,0.303,0.303,0);
INSERT INTO "step_summary" VALUES(1,9,13,1,0.505,0.505,0.505,0);
INSERT INTO "step_summary" VALUES(1,9,14,1,0.505,0.505,0.505,0);
INSERT INTO "step_summary" VALUES(1,9,15,1,0.297,0.297,0.297,0);
INSERT INTO "step_summary" VALUES(1,9,16,1,0.495,0.495,0.495,0);
INSERT INTO "step_summary" VALUES(1,9,17,1,0.495,0.495,0.495,0);
INSERT INTO "step_summary" VALUES(1,9,18,1,0.2985,0.2985,0.2985,0);
INSERT INTO "step_summary" VALUES(1,9,19,1,0.4975,0.4975,0.4975,0);
INSERT INTO "step_summary" VALUES(1,9,20,1,0.4975,0.4975,0.4975,0);
INSERT INTO "step_summary" VALUES(1,9,21,1,0.3,0.3,0.3,0);
INSERT INTO "step_summary" VALUES(1,9,22,1,0.5,0.5,0.5,0);
INSERT INTO "step_summary" VALUES(1,9,23,1,0.5,0.5,0.5,0);
INSERT INTO "step_summary" VALUES(2,1,0,1,4.9896000000000007013e-01,4.9896000000000007013e-01,4.9896000000000007013e-01,0);
INSERT INTO "step_summary" VALUES(2,1,1,1,8.73179999999999845172e-01,8.73179999999999845172e-01,8.73179999999999845172e-01,0);
INSERT INTO "step_summary" VALUES(2,1,2,1,8.73179999999999845172e-01,8.73179999999999845172e-01,8.73179999999999845172e-01,0);
INSERT INTO "step_summary" VALUES(2,1,3,1,5.01479999999999925819e-01,5.01479999999999925819e-01,5.01479999999999925819e-01,0);
INSERT INTO "step_summary" VALUES(2,1,4,1,0.87759,0.87759,0.87759,0);
INSERT INTO "step_summary" VALUES(2,1,5,1,0.29253,0.29253,0.29253,0);
INSERT INTO "step_summary" VALUES(2,1,6,1,0.168,0.168,0.168,0);
INSERT INTO "step_summary" VALUES(2,1,7,1,0.294,0.294,0.294,0);
INSERT INTO "step_summary" VALUES(2,1,8,1,0.294,0.294,0.294,0);
INSERT INTO "step_summary" VALUES(2,1,9,1,0.16884,0.16884,0.16884,0);
INSERT INTO "step_summary" VALUES(2,1,10,1,2.95469999999999954898e-01,2.95469999999999954898e-01,2.95469999999999954898e-01,0);
INSERT INTO "step_summary" VALUES(2,1,11,1,2.95469999999999954898e-01,2.95469999999999954898e-01,2.95469999999999954898e-01,0);
INSERT INTO "step_summary" VALUES(2,1,12,1,1.69680000000000053006e-01,1.69680000000000053006e-01,1.69680000000000053006e-01,0);
INSERT INTO "step_summary" VALUES(2,1,13,1,0.29694,0.29694,0.29694,0);
INSERT INTO "step_summary" VALUES(2,1,14,1,0.29694,0.29694,0.29694,0);
INSERT INTO "step_summary" VALUES(2,1,15,1,0.16632,0.16632,0.16632,0);
INSERT INTO "step_summary" VALUES(2,1,16,1,0.29106,0.29106,0.29106,0);
INSERT INTO "step_summary" VALUES(2,1,17,1,0.29106,0.29106,0.29106,0);
INSERT INTO "step_summary" VALUES(2,1,18,1,0.16716,0.16716,0.16716,0);
INSERT INTO "step_summary" VALUES(2,1,19,1,0.29253,0.29253,0.29253,0);
INSERT INTO "step_summary" VALUES(2,1,20,1,0.29253,0.29253,0.29253,0);
INSERT INTO "step_summary" VALUES(2,1,21,1,0.168,0.168,0.168,0);
INSERT INTO "step_summary" VALUES(2,1,22,1,0.294,0.294,0.294,0);
INSERT INTO "step_summary" VALUES(2,1,23,1,0.294,0.294,0.294,0);
INSERT INTO "step_summary" VALUES(2,2,0,1,3.56400000000000050093e-01,3.56400000000000050093e-01,3.56400000000000050093e-01,0);
INSERT INTO "step_summary" VALUES(2,2,1,1,6.23699999999999921129e-01,6.23699999999999921129e-01,6.23699999999999921129e-01,0);
INSERT INTO "step_summary" VALUES(2,2,2,1,6.23699999999999921129e-01,6.23699999999999921129e-01,6.23699999999999921129e-01,0);
INSERT INTO "step_summary" VALUES(2,2,3,1,3.58199999999999962874e-01,3.58199999999999962874e-01,3.58199999999999962874e-01,0);
INSERT INTO "step_summary" VALUES(2,2,4,1,0.62685,0.62685,0.62685,0);
INSERT INTO "step_summary" VALUES(2,2,5,1,0.20895,0.20895,0.20895,0);
INSERT INTO "step_summary" VALUES(2,2,6,1,0.12,0.12,0.12,0);
INSERT INTO "step_summary" VALUES(2,2,7,1,0.21,0.21,0.21,0);
INSERT INTO "step_summary" VALUES(2,2,8,1,0.21,0.21,0.21,0);
INSERT INTO "step_summary" VALUES(2,2,9,1,1.20599999999999984989e-01,1.20599999999999984989e-01,1.20599999999999984989e-01,0);
INSERT INTO "step_summary" VALUES(2,2,10,1,2.11049999999999959854e-01,2.11049999999999959854e-01,2.11049999999999959854e-01,0);
INSERT INTO "step_summary" VALUES(2,2,11,1,2.11049999999999959854e-01,2.11049999999999959854e-01,2.11049999999999959854e-01,0);
INSERT INTO "step_summary" VALUES(2,2,12,1,0.1212,0.1212,0.1212,0);
INSERT INTO "step_summary" VALUES(2,2,13,1,0.2121,0.2121,0.2121,0);
INSERT INTO "step_summary" VALUES(2,2,14,1,0.2121,0.2121,0.2121,0);
INSERT INTO "step_summary" VALUES(2,2,15,1,0.1188,0.1188,0.1188,0);
INSERT INTO "step_summary" VALUES(2,2,16,1,2.07899999999999973709e-01,2.07899999999999973709e-01,2.07899999999999973709e-01,0);
INSERT INTO "step_summary" VALUES(2,2,17,1,2.07899999999999973709e-01,2.07899999999999973709e-01,2.07899999999999973709e-01,0);
INSERT INTO "step_summary" VALUES(2,2,18,1,0.1194,0.1194,0.1194,0);
INSERT INTO "step_summary" VALUES(2,2,19,1,0.20895,0.20895,0.20895,0);
INSERT INTO "step_summary" VALUES(2,2,20,1,0.20895,0.20895,0.20895,0);
INSERT INTO "step_summary" VALUES(2,2,21,1,0.12,0.12,0.12,0);
INSERT INTO "step_summary" VALUES(2,2,22,1,0.21,0.21,0.21,0);
INSERT INTO "step_summary" VALUES(2,2,23,1,0.21,0.21,0.21,0);
INSERT INTO "step_summary" VALUES(2,3,0,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,1,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,2,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,3,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,4,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,5,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,6,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,7,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,8,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,9,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,10,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,11,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,12,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,13,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,14,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,15,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,16,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,17,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,18,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,19,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,20,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,21,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,22,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,3,23,1,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(2,4,0,1,2.49480000000000035065e-01,2.49480000000000035065e-01,2.49480000000000035065e-01,0);
INSERT INTO "step_summary" VALUES(2,4,1,1,4.36589999999999922586e-01,4.36589999999999922586e-01,4.36589999999999922586e-01,0);
INSERT INTO "step_summary" VALUES(2,4,2,1,4.36589999999999922586e-01,4.36589999999999922586e-01,4.36589999999999922586e-01,0);
INSERT INTO "step_summary" VALUES(2,4,3,1,2.50739999999999962909e-01,2.50739999999999962909e-01,2.50739999999999962909e-01,0);
INSERT INTO "step_summary" VALUES(2,4,4,1,0.438795,0.438795,0.438795,0);
INSERT INTO "step_summary" VALUES(2,4,5,1,0.146265,0.146265,0.146265,0);
INSERT INTO "step_summary" VALUES(2,4,6,1,0.084,0.084,0.084,0);
INSERT INTO "step_summary" VALUES(2,4,7,1,0.147,0.147,0.147,0);
INSERT INTO "step_summary" VALUES(2,4,8,1,0.147,0.147,0.147,0);
INSERT INTO "step_summary" VALUES(2,4,9,1,0.08442,0.08442,0.08442,0);
INSERT INTO "step_summary" VALUES(2,4,10,1,1.47734999999999977449e-01,1.47734999999999977449e-01,1.47734999999999977449e-01,0);
INSERT INTO "step_summary" VALUES(2,4,11,1,1.47734999999999977449e-01,1.47734999999999977449e-01,1.47734999999999977449e-01,0);
INSERT INTO "step_summary" VALUES(2,4,12,1,8.48400000000000126254e-02,8.48400000000000126254e-02,8.48400000000000126254e-02,0);
INSERT INTO "step_summary" VALUES(2,4,13,1,0.14847,0.14847,0.14847,0);
INSERT INTO "step_summary" VALUES(2,4,14,1,0.14847,0.14847,0.14847,0);
INSERT INTO "step_summary" VALUES(2,4,15,1,0.08316,0.08316,0.08316,0);
INSERT INTO "step_summary" VALUES(2,4,16,1,0.14553,0.14553,0.14553,0);
INSERT INTO "step_summary" VALUES(2,4,17,1,0.14553,0.14553,0.14553,0);
INSERT INTO "step_summary" VALUES(2,4,18,1,0.08358,0.08358,0.08358,0);
INSERT INTO "step_summary" VALUES(2,4,19,1,0.146265,0.146265,0.146265,0);
INSERT INTO "step_summary" VALUES(2,4,20,1,0.146265,0.146265,0.146265,0);
INSERT INTO "step_summary" VALUES(2,4,21,1,0.084,0.084,0.084,0);
INSERT INTO "step_summary" VALUES(2,4,22,1,0.147,0.147,0.147,0);
INSERT INTO "step_summary" VALUES(2,4,23,1,0.147,0.147,0.147,0);
INSERT INTO "step_summary" VALUES(2,5,0,1,0.9,0.9,0.9,0);
INSERT INTO "step_summary" VALUES(2,5,1,1,8.73913043478260931351e-01,8.73913043478260931351e-01,8.73913043478260931351e-01,0);
INSERT INTO "step_summary" VALUES(2,5,2,1,8.47826086956521729476e-01,8.47826086956521729476e-01,8.47826086956521729476e-01,0);
INSERT INTO "step_summary" VALUES(2,5,3,1,8.21739130434782638623e-01,8.21739130434782638623e-01,8.21739130434782638623e-01,0);
INSERT INTO "step_summary" VALUES(2,5,4,1,7.9565217391304354777e-01,7.9565217391304354777e-01,7.9565217391304354777e-01,0);
INSERT INTO "step_summary" VALUES(2,5,5,1,7.69565217391304345895e-01,7.69565217391304345895e-01,7.69565217391304345895e-01,0);
INSERT INTO "step_summary" VALUES(2,5,6,1,7.43478260869565255042e-01,7.43478260869565255042e-01,7.43478260869565255042e-01,0);
INSERT INTO "step_summary" VALUES(2,5,7,1,0.717391304347826,0.717391304347826,0.717391304347826,0);
INSERT INTO "step_summary" VALUES(2,5,8,1,0.691304347826087,0.691304347826087,0.691304347826087,0);
INSERT INTO "step_summary" VALUES(2,5,9,1,6.65217391304347760438e-01,6.65217391304347760438e-01,6.65217391304347760438e-01,0);
INSERT INTO "step_summary" VALUES(2,5,10,1,6.39130434782608669586e-01,6.39130434782608669586e-01,6.39130434782608669586e-01,0);
INSERT INTO "step_summary" VALUES(2,5,11,1,6.13043478260869578733e-01,6.13043478260869578733e-01,6.13043478260869578733e-01,0);
INSERT INTO "step_summary" VALUES(2,5,12,1,5.86956521739130376857e-01,5.86956521739130376857e-01,5.86956521739130376857e-01,0);
INSERT INTO "step_summary" VALUES(2,5,13,1,5.60869565217391286005e-01,5.60869565217391286005e-01,5.60869565217391286005e-01,0);
INSERT INTO "step_summary" VALUES(2,5,14,1,5.34782608695652195152e-01,5.34782608695652195152e-01,5.34782608695652195152e-01,0);
INSERT INTO "step_summary" VALUES(2,5,15,1,0.508695652173913,0.508695652173913,0.508695652173913,0);
INSERT INTO "step_summary" VALUES(2,5,16,1,4.82608695652173902423e-01,4.82608695652173902423e-01,4.82608695652173902423e-01,0);
INSERT INTO "step_summary" VALUES(2,5,17,1,4.56521739130434700548e-01,4.56521739130434700548e-01,4.56521739130434700548e-01,0);
INSERT INTO "step_summary" VALUES(2,5,18,1,4.30434782608695609695e-01,4.30434782608695609695e-01,4.30434782608695609695e-01,0);
INSERT INTO "step_summary" VALUES(2,5,19,1,4.04347826086956463331e-01,4.04347826086956463331e-01,4.04347826086956463331e-01,0);
INSERT INTO "step_summary" VALUES(2,5,20,1,3.78260869565217316967e-01,3.78260869565217316967e-01,3.78260869565217316967e-01,0);
INSERT INTO "step_summary" VALUES(2,5,21,1,3.52173913043478226114e-01,3.52173913043478226114e-01,3.52173913043478226114e-01,0);
INSERT INTO "step_summary" VALUES(2,5,22,1,0.326086956521739,0.326086956521739,0.326086956521739,0);
INSERT INTO "step_summary" VALUES(2,5,23,1,2.99999999999999933386e-01,2.99999999999999933386e-01,2.99999999999999933386e-01,0);
INSERT INTO "step_summary" VALUES(2,6,0,1,0.066528,0.066528,0.066528,0);
INSERT INTO "step_summary" VALUES(2,6,1,1,0.116424,0.116424,0.116424,0);
INSERT INTO "step_summary" VALUES(2,6,2,1,0.116424,0.116424,0.116424,0);
INSERT INTO "step_summary" VALUES(2,6,3,1,0.066864,0.066864,0.066864,0);
INSERT INTO "step_summary" VALUES(2,6,4,1,0.117012,0.117012,0.117012,0);
INSERT INTO "step_summary" VALUES(2,6,5,1,0.039004,0.039004,0.039004,0);
INSERT INTO "step_summary" VALUES(2,6,6,1,2.24000000000000032418e-02,2.24000000000000032418e-02,2.24000000000000032418e-02,0);
INSERT INTO "step_summary" VALUES(2,6,7,1,0.0392,0.0392,0.0392,0);
INSERT INTO "step_summary" VALUES(2,6,8,1,0.0392,0.0392,0.0392,0);
INSERT INTO "step_summary" VALUES(2,6,9,1,0.022512,0.022512,0.022512,0);
INSERT INTO "step_summary" VALUES(2,6,10,1,3.93959999999999935238e-02,3.93959999999999935238e-02,3.93959999999999935238e-02,0);
INSERT INTO "step_summary" VALUES(2,6,11,1,3.93959999999999935238e-02,3.93959999999999935238e-02,3.93959999999999935238e-02,0);
INSERT INTO "step_summary" VALUES(2,6,12,1,2.26240000000000052171e-02,2.26240000000000052171e-02,2.26240000000000052171e-02,0);
INSERT INTO "step_summary" VALUES(2,6,13,1,0.039592,0.039592,0.039592,0);
INSERT INTO "step_summary" VALUES(2,6,14,1,0.039592,0.039592,0.039592,0);
INSERT INTO "step_summary" VALUES(2,6,15,1,0.022176,0.022176,0.022176,0);
INSERT INTO "step_summary" VALUES(2,6,16,1,0.038808,0.038808,0.038808,0);
INSERT INTO "step_summary" VALUES(2,6,17,1,0.038808,0.038808,0.038808,0);
INSERT INTO "step_summary" VALUES(2,6,18,1,0.022288,0.022288,0.022288,0);
INSERT INTO "step_summary" VALUES(2,6,19,1,0.039004,0.039004,0.039004,0);
INSERT INTO "step_summary" VALUES(2,6,20,1,0.039004,0.039004,0.039004,0);
INSERT INTO "step_summary" VALUES(2,6,21,1,2.24000000000000032418e-02,2.24000000000000032418e-02,2.24000000000000032418e-02,0);
INSERT INTO "step_summary" VALUES(2,6,22,1,0.0392,0.0392,0.0392,0);
INSERT INTO "step_summary" VALUES(2,6,23,1,0.0392,0.0392,0.0392,0);
INSERT INTO "step_summary" VALUES(2,7,0,1,0.016632,0.016632,0.016632,0);
INSERT INTO "step_summary" VALUES(2,7,1,1,2.91059999999999964581e-02,2.91059999999999964581e-02,2.91059999999999964581e-02,0);
INSERT INTO "step_summary" VALUES(2,7,2,1,2.91059999999999964581e-02,2.91059999999999964581e-02,2.91059999999999964581e-02,0);
INSERT INTO "step_summary" VALUES(2,7,3,1,0.016716,0.016716,0.016716,0);
INSERT INTO "step_summary" VALUES(2,7,4,1,0.029253,0.029253,0.029253,0);
INSERT INTO "step_summary" VALUES(2,7,5,1,0.009751,0.009751,0.009751,0);
INSERT INTO "step_summary" VALUES(2,7,6,1,5.60000000000000081046e-03,5.60000000000000081046e-03,5.60000000000000081046e-03,0);
INSERT INTO "step_summary" VALUES(2,7,7,1,0.0098,0.0098,0.0098,0);
INSERT INTO "step_summary" VALUES(2,7,8,1,0.0098,0.0098,0.0098,0);
INSERT INTO "step_summary" VALUES(2,7,9,1,0.005628,0.005628,0.005628,0);
INSERT INTO "step_summary" VALUES(2,7,10,1,9.84899999999999838096e-03,9.84899999999999838096e-03,9.84899999999999838096e-03,0);
INSERT INTO "step_summary" VALUES(2,7,11,1,9.84899999999999838096e-03,9.84899999999999838096e-03,9.84899999999999838096e-03,0);
INSERT INTO "step_summary" VALUES(2,7,12,1,5.65600000000000130429e-03,5.65600000000000130429e-03,5.65600000000000130429e-03,0);
INSERT INTO "step_summary" VALUES(2,7,13,1,0.009898,0.009898,0.009898,0);
INSERT INTO "step_summary" VALUES(2,7,14,1,0.009898,0.009898,0.009898,0);
INSERT INTO "step_summary" VALUES(2,7,15,1,0.005544,0.005544,0.005544,0);
INSERT INTO "step_summary" VALUES(2,7,16,1,0.009702,0.009702,0.009702,0);
INSERT INTO "step_summary" VALUES(2,7,17,1,0.009702,0.009702,0.009702,0);
INSERT INTO "step_summary" VALUES(2,7,18,1,5.57200000000000056354e-03,5.57200000000000056354e-03,5.57200000000000056354e-03,0);
INSERT INTO "step_summary" VALUES(2,7,19,1,0.009751,0.009751,0.009751,0);
INSERT INTO "step_summary" VALUES(2,7,20,1,0.009751,0.009751,0.009751,0);
INSERT INTO "step_summary" VALUES(2,7,21,1,5.60000000000000081046e-03,5.60000000000000081046e-03,5.60000000000000081046e-03,0);
INSERT INTO "step_summary" VALUES(2,7,22,1,0.0098,0.0098,0.0098,0);
INSERT INTO "step_summary" VALUES(2,7,23,1,0.0098,0.0098,0.0098,0);
INSERT INTO "step_summary" VALUES(2,8,0,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,1,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,2,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,3,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,4,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,5,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,6,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,7,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,8,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,9,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,10,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,11,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,12,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,13,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,14,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,15,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,16,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,17,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,18,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,19,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,20,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,21,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,22,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,8,23,1,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(2,9,0,1,1.18800000000000016697e+00,1.18800000000000016697e+00,1.18800000000000016697e+00,0);
INSERT INTO "step_summary" VALUES(2,9,1,1,2.07899999999999973709e+00,2.07899999999999973709e+00,2.07899999999999973709e+00,0);
INSERT INTO "step_summary" VALUES(2,9,2,1,2.07899999999999973709e+00,2.07899999999999973709e+00,2.07899999999999973709e+00,0);
INSERT INTO "step_summary" VALUES(2,9,3,1,1.194,1.194,1.194,0);
INSERT INTO "step_summary" VALUES(2,9,4,1,2.0895,2.0895,2.0895,0);
INSERT INTO "step_summary" VALUES(2,9,5,1,0.6965,0.6965,0.6965,0);
INSERT INTO "step_summary" VALUES(2,9,6,1,0.4,0.4,0.4,0);
INSERT INTO "step_summary" VALUES(2,9,7,1,0.7,0.7,0.7,0);
INSERT INTO "step_summary" VALUES(2,9,8,1,0.7,0.7,0.7,0);
INSERT INTO "step_summary" VALUES(2,9,9,1,0.402,0.402,0.402,0);
INSERT INTO "step_summary" VALUES(2,9,10,1,7.03499999999999903188e-01,7.03499999999999903188e-01,7.03499999999999903188e-01,0);
INSERT INTO "step_summary" VALUES(2,9,11,1,7.03499999999999903188e-01,7.03499999999999903188e-01,7.03499999999999903188e-01,0);
INSERT INTO "step_summary" VALUES(2,9,12,1,0.404,0.404,0.404,0);
INSERT INTO "step_summary" VALUES(2,9,13,1,0.707,0.707,0.707,0);
INSERT INTO "step_summary" VALUES(2,9,14,1,0.707,0.707,0.707,0);
INSERT INTO "step_summary" VALUES(2,9,15,1,0.396,0.396,0.396,0);
INSERT INTO "step_summary" VALUES(2,9,16,1,0.693,0.693,0.693,0);
INSERT INTO "step_summary" VALUES(2,9,17,1,0.693,0.693,0.693,0);
INSERT INTO "step_summary" VALUES(2,9,18,1,0.398,0.398,0.398,0);
INSERT INTO "step_summary" VALUES(2,9,19,1,0.6965,0.6965,0.6965,0);
INSERT INTO "step_summary" VALUES(2,9,20,1,0.6965,0.6965,0.6965,0);
INSERT INTO "step_summary" VALUES(2,9,21,1,0.4,0.4,0.4,0);
INSERT INTO "step_summary" VALUES(2,9,22,1,0.7,0.7,0.7,0);
INSERT INTO "step_summary" VALUES(2,9,23,1,0.7,0.7,0.7,0);
INSERT INTO "step_summary" VALUES(3,1,0,2,0.523908,0.523908,0.523908,0);
INSERT INTO "step_summary" VALUES(3,1,1,2,8.73179999999999845172e-01,8.73179999999999845172e-01,8.73179999999999845172e-01,0);
INSERT INTO "step_summary" VALUES(3,1,2,2,8.73179999999999845172e-01,8.73179999999999845172e-01,8.73179999999999845172e-01,0);
INSERT INTO "step_summary" VALUES(3,1,3,2,0.526554,0.526554,0.526554,0);
INSERT INTO "step_summary" VALUES(3,1,4,2,0.87759,0.87759,0.87759,0);
INSERT INTO "step_summary" VALUES(3,1,5,2,2.92529999999999956727e-01,2.92529999999999956727e-01,2.92529999999999956727e-01,0);
INSERT INTO "step_summary" VALUES(3,1,6,2,1.76399999999999973487e-01,1.76399999999999973487e-01,1.76399999999999973487e-01,0);
INSERT INTO "step_summary" VALUES(3,1,7,2,0.294,0.294,0.294,0);
INSERT INTO "step_summary" VALUES(3,1,8,2,0.294,0.294,0.294,0);
INSERT INTO "step_summary" VALUES(3,1,9,2,1.77281999999999967387e-01,1.77281999999999967387e-01,1.77281999999999967387e-01,0);
INSERT INTO "step_summary" VALUES(3,1,10,2,2.95469999999999954898e-01,2.95469999999999954898e-01,2.95469999999999954898e-01,0);
INSERT INTO "step_summary" VALUES(3,1,11,2,2.95469999999999954898e-01,2.95469999999999954898e-01,2.95469999999999954898e-01,0);
INSERT INTO "step_summary" VALUES(3,1,12,2,0.178164,0.178164,0.178164,0);
INSERT INTO "step_summary" VALUES(3,1,13,2,0.29694,0.29694,0.29694,0);
INSERT INTO "step_summary" VALUES(3,1,14,2,0.29694,0.29694,0.29694,0);
INSERT INTO "step_summary" VALUES(3,1,15,2,0.174636,0.174636,0.174636,0);
INSERT INTO "step_summary" VALUES(3,1,16,2,0.29106,0.29106,0.29106,0);
INSERT INTO "step_summary" VALUES(3,1,17,2,0.29106,0.29106,0.29106,0);
INSERT INTO "step_summary" VALUES(3,1,18,2,0.175518,0.175518,0.175518,0);
INSERT INTO "step_summary" VALUES(3,1,19,2,2.92529999999999956727e-01,2.92529999999999956727e-01,2.92529999999999956727e-01,0);
INSERT INTO "step_summary" VALUES(3,1,20,2,2.92529999999999956727e-01,2.92529999999999956727e-01,2.92529999999999956727e-01,0);
INSERT INTO "step_summary" VALUES(3,1,21,2,1.76399999999999973487e-01,1.76399999999999973487e-01,1.76399999999999973487e-01,0);
INSERT INTO "step_summary" VALUES(3,1,22,2,0.294,0.294,0.294,0);
INSERT INTO "step_summary" VALUES(3,1,23,2,0.294,0.294,0.294,0);
INSERT INTO "step_summary" VALUES(3,2,0,2,0.01782,0.01782,0.01782,0);
INSERT INTO "step_summary" VALUES(3,2,1,2,2.96999999999999972355e-02,2.96999999999999972355e-02,2.96999999999999972355e-02,0);
INSERT INTO "step_summary" VALUES(3,2,2,2,2.96999999999999972355e-02,2.96999999999999972355e-02,2.96999999999999972355e-02,0);
INSERT INTO "step_summary" VALUES(3,2,3,2,0.01791,0.01791,0.01791,0);
INSERT INTO "step_summary" VALUES(3,2,4,2,0.02985,0.02985,0.02985,0);
INSERT INTO "step_summary" VALUES(3,2,5,2,0.00995,0.00995,0.00995,0);
INSERT INTO "step_summary" VALUES(3,2,6,2,0.006,0.006,0.006,0);
INSERT INTO "step_summary" VALUES(3,2,7,2,0.01,0.01,0.01,0);
INSERT INTO "step_summary" VALUES(3,2,8,2,0.01,0.01,0.01,0);
INSERT INTO "step_summary" VALUES(3,2,9,2,6.02999999999999890254e-03,6.02999999999999890254e-03,6.02999999999999890254e-03,0);
INSERT INTO "step_summary" VALUES(3,2,10,2,0.01005,0.01005,0.01005,0);
INSERT INTO "step_summary" VALUES(3,2,11,2,0.01005,0.01005,0.01005,0);
INSERT INTO "step_summary" VALUES(3,2,12,2,0.00606,0.00606,0.00606,0);
INSERT INTO "step_summary" VALUES(3,2,13,2,0.0101,0.0101,0.0101,0);
INSERT INTO "step_summary" VALUES(3,2,14,2,0.0101,0.0101,0.0101,0);
INSERT INTO "step_summary" VALUES(3,2,15,2,0.00594,0.00594,0.00594,0);
INSERT INTO "step_summary" VALUES(3,2,16,2,0.0099,0.0099,0.0099,0);
INSERT INTO "step_summary" VALUES(3,2,17,2,0.0099,0.0099,0.0099,0);
INSERT INTO "step_summary" VALUES(3,2,18,2,0.00597,0.00597,0.00597,0);
INSERT INTO "step_summary" VALUES(3,2,19,2,0.00995,0.00995,0.00995,0);
INSERT INTO "step_summary" VALUES(3,2,20,2,0.00995,0.00995,0.00995,0);
INSERT INTO "step_summary" VALUES(3,2,21,2,0.006,0.006,0.006,0);
INSERT INTO "step_summary" VALUES(3,2,22,2,0.01,0.01,0.01,0);
INSERT INTO "step_summary" VALUES(3,2,23,2,0.01,0.01,0.01,0);
INSERT INTO "step_summary" VALUES(3,3,0,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,1,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,2,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,3,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,4,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,5,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,6,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,7,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,8,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,9,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,10,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,11,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,12,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,13,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,14,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,15,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,16,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,17,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,18,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,19,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,20,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,21,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,22,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,3,23,2,0.0,0.0,0.0,0);
INSERT INTO "step_summary" VALUES(3,4,0,2,0.261954,0.261954,0.261954,0);
INSERT INTO "step_summary" VALUES(3,4,1,2,4.36589999999999922586e-01,4.36589999999999922586e-01,4.36589999999999922586e-01,0);
INSERT INTO "step_summary" VALUES(3,4,2,2,4.36589999999999922586e-01,4.36589999999999922586e-01,4.36589999999999922586e-01,0);
INSERT INTO "step_summary" VALUES(3,4,3,2,0.263277,0.263277,0.263277,0);
INSERT INTO "step_summary" VALUES(3,4,4,2,0.438795,0.438795,0.438795,0);
INSERT INTO "step_summary" VALUES(3,4,5,2,1.46264999999999978363e-01,1.46264999999999978363e-01,1.46264999999999978363e-01,0);
INSERT INTO "step_summary" VALUES(3,4,6,2,8.81999999999999867439e-02,8.81999999999999867439e-02,8.81999999999999867439e-02,0);
INSERT INTO "step_summary" VALUES(3,4,7,2,0.147,0.147,0.147,0);
INSERT INTO "step_summary" VALUES(3,4,8,2,0.147,0.147,0.147,0);
INSERT INTO "step_summary" VALUES(3,4,9,2,8.86409999999999836939e-02,8.86409999999999836939e-02,8.86409999999999836939e-02,0);
INSERT INTO "step_summary" VALUES(3,4,10,2,1.47734999999999977449e-01,1.47734999999999977449e-01,1.47734999999999977449e-01,0);
INSERT INTO "step_summary" VALUES(3,4,11,2,1.47734999999999977449e-01,1.47734999999999977449e-01,1.47734999999999977449e-01,0);
INSERT INTO "step_summary" VALUES(3,4,12,2,0.089082,0.089082,0.089082,0);
INSERT INTO "step_summary" VALUES(3,4,13,2,0.14847,0.14847,0.14847,0);
INSERT INTO "step_summary" VALUES(3,4,14,2,0.14847,0.14847,0.14847,0);
INSERT INTO "step_summary" VALUES(3,4,15,2,8.73179999999999928439e-02,8.73179999999999928439e-02,8.73179999999999928439e-02,0);
INSERT INTO "step_summary" VALUES(3,4,16,2,0.14553,0.14553,0.14553,0);
INSERT INTO "step_summary" VALUES(3,4,17,2,0.14553,0.14553,0.14553,0);
INSERT INTO "step_summary" VALUES(3,4,18,2,0.087759,0.087759,0.087759,0);
INSERT INTO "step_summary" VALUES(3,4,19,2,1.46264999999999978363e-01,1.46264999999999978363e-01,1.46264999999999978363e-01,0);
INSERT INTO "step_summary" VALUES(3,4,20,2,1.46264999999999978363e-01,1.46264999999999978363e-01,1.46264999999999978363e-01,0);
INSERT INTO "step_summary" VALUES(3,4,21,2,8.81999999999999867439e-02,8.81999999999999867439e-02,8.81999999999999867439e-02,0);
INSERT INTO "step_summary" VALUES(3,4,22,2,0.147,0.147,0.147,0);
INSERT INTO "step_summary" VALUES(3,4,23,2,0.147,0.147,0.147,0);
INSERT INTO "step_summary" VALUES(3,5,0,2,0.9,0.9,0.9,0);
INSERT INTO "step_summary" VALUES(3,5,1,2,8.73913043478260931351e-01,8.73913043478260931351e-01,8.73913043478260931351e-01,0);
INSERT INTO "step_summary" VALUES(3,5,2,2,8.47826086956521729476e-01,8.47826086956521729476e-01,8.47826086956521729476e-01,0);
INSERT INTO "step_summary" VALUES(3,5,3,2,8.21739130434782638623e-01,8.21739130434782638623e-01,8.21739130434782638623e-01,0);
INSERT INTO "step_summary" VALUES(3,5,4,2,7.9565217391304354777e-01,7.9565217391304354777e-01,7.9565217391304354777e-01,0);
INSERT INTO "step_summary" VALUES(3,5,5,2,7.69565217391304345895e-01,7.69565217391304345895e-01,7.69565217391304345895e-01,0);
INSERT INTO "step_summary" VALUES(3,5,6,2,7.43478260869565255042e-01,7.43478260869565255042e-01,7.43478260869565255042e-01,0);
INSERT INTO "step_summary" VALUES(3,5,7,2,0.717391304347826,0.717391304347826,0.717391304347826,0);
INSERT INTO "step_summary" VALUES(3,5,8,2,0.691304347826087,0.691304347826087,0.691304347826087,0);
INSERT INTO "step_summary" VALUES(3,5,9,2,6.65217391304347760438e-01,6.65217391304347760438e-01,6.65217391304347760438e-01,0);
INSERT INTO "step_summary" VALUES(3,5,10,2,6.39130434782608669586e-01,6.39130434782608669586e-01,6.39130434782608669586e-01,0);
INSERT INTO "step_summary" VALUES(3,5,11,2,6.13043478260869578733e-01,6.13043478260869578733e-01,6.13043478260869578733e-01,0);
INSERT INTO "step_summary" VALUES(3,5,12,2,5.86956521739130376857e-01,5.86956521739130376857e-01,5.86956521739130376857e-01,0);
INSERT INTO "step_summary" VALUES(3,5,13,2,5.60869565217391286005e-01,5.60869565217391286005e-01,5.60869565217391286005e-01,0);
INSERT INTO "step_summary" VALUES(3,5,14,2,5.34782608695652195152e-01,5.34782608695652195152e-01,5.34782608695652195152e-01,0);
INSERT INTO "step_summary" VALUES(3,5,15,2,0.508695652173913,0.508695652173913,0.508695652173913,0);
INSERT INTO "step_summary" VALUES(3,5,16,2,4.82608695652173902423e-01,4.82608695652173902423e-01,4.82608695652173902423e-01,0);
INSERT INTO "step_summary" VALUES(3,5,17,2,4.56521739130434700548e-01,4.56521739130434700548e-01,4.56521739130434700548e-01,0);
INSERT INTO "step_summary" VALUES(3,5,18,2,4.30434782608695609695e-01,4.30434782608695609695e-01,4.30434782608695609695e-01,0);
INSERT INTO "step_summary" VALUES(3,5,19,2,4.04347826086956463331e-01,4.04347826086956463331e-01,4.04347826086956463331e-01,0);
INSERT INTO "step_summary" VALUES(3,5,20,2,3.78260869565217316967e-01,3.78260869565217316967e-01,3.78260869565217316967e-01,0);
INSERT INTO "step_summary" VALUES(3,5,21,2,3.52173913043478226114e-01,3.52173913043478226114e-01,3.52173913043478226114e-01,0);
INSERT INTO "step_summary" VALUES(3,5,22,2,0.326086956521739,0.326086956521739,0.326086956521739,0);
INSERT INTO "step_summary" VALUES(3,5,23,2,2.99999999999999933386e-01,2.99999999999999933386e-01,2.99999999999999933386e-01,0);
INSERT INTO "step_summary" VALUES(3,6,0,2,6.98544000000000109285e-02,6.98544000000000109285e-02,6.98544000000000109285e-02,0);
INSERT INTO "step_summary" VALUES(3,6,1,2,0.116424,0.116424,0.116424,0);
INSERT INTO "step_summary" VALUES(3,6,2,2,0.116424,0.116424,0.116424,0);
INSERT INTO "step_summary" VALUES(3,6,3,2,0.0702072,0.0702072,0.0702072,0);
INSERT INTO "step_summary" VALUES(3,6,4,2,0.117012,0.117012,0.117012,0);
INSERT INTO "step_summary" VALUES(3,6,5,2,0.039004,0.039004,0.039004,0);
INSERT INTO "step_summary" VALUES(3,6,6,2,0.02352,0.02352,0.02352,0);
INSERT INTO "step_summary" VALUES(3,6,7,2,0.0392,0.0392,0.0392,0);
INSERT INTO "step_summary" VALUES(3,6,8,2,0.0392,0.0392,0.0392,0);
INSERT INTO "step_summary" VALUES(3,6,9,2,0.0236376,0.0236376,0.0236376,0);
INSERT INTO "step_summary" VALUES(3,6,10,2,3.93959999999999935238e-02,3.93959999999999935238e-02,3.93959999999999935238e-02,0);
INSERT INTO "step_summary" VALUES(3,6,11,2,3.93959999999999935238e-02,3.93959999999999935238e-02,3.93959999999999935238e-02,0);
INSERT INTO "step_summary" VALUES(3,6,12,2,0.0237552,0.0237552,0.0237552,0);
INSERT INTO "step_summary" VALUES(3,6,13,2,0.039592,0.039592,0.039592,0);
INSERT INTO "step_summary" VALUES(3,6,14,2,0.039592,0.039592,0.039592,0);
INSERT INTO "step_summary" VALUES(3,6,15,2,0.0232848,0.0232848,0.0232848,0);
INSERT INTO "step_summary" VALUES(3,6,16,2,0.038808,0.038808,0.038808,0);
INSERT INTO "step_summary" VALUES(3,6,17,2,0.038808,0.038808,0.038808,0);
INSERT INTO "step_summary" VALUES(3,6,18,2,0.0234024,0.0234024,0.0234024,0);
INSERT INTO "step_summary" VALUES(3,6,19,2,0.039004,0.039004,0.039004,0);
INSERT INTO "step_summary" VALUES(3,6,20,2,0.039004,0.039004,0.039004,0);
INSERT INTO "step_summary" VALUES(3,6,21,2,0.02352,0.02352,0.02352,0);
INSERT INTO "step_summary" VALUES(3,6,22,2,0.0392,0.0392,0.0392,0);
INSERT INTO "step_summary" VALUES(3,6,23,2,0.0392,0.0392,0.0392,0);
INSERT INTO "step_summary" VALUES(3,7,0,2,1.74636000000000027321e-02,1.74636000000000027321e-02,1.74636000000000027321e-02,0);
INSERT INTO "step_summary" VALUES(3,7,1,2,2.91059999999999964581e-02,2.91059999999999964581e-02,2.91059999999999964581e-02,0);
INSERT INTO "step_summary" VALUES(3,7,2,2,2.91059999999999964581e-02,2.91059999999999964581e-02,2.91059999999999964581e-02,0);
INSERT INTO "step_summary" VALUES(3,7,3,2,0.0175518,0.0175518,0.0175518,0);
INSERT INTO "step_summary" VALUES(3,7,4,2,0.029253,0.029253,0.029253,0);
INSERT INTO "step_summary" VALUES(3,7,5,2,0.009751,0.009751,0.009751,0);
INSERT INTO "step_summary" VALUES(3,7,6,2,0.00588,0.00588,0.00588,0);
INSERT INTO "step_summary" VALUES(3,7,7,2,0.0098,0.0098,0.0098,0);
INSERT INTO "step_summary" VALUES(3,7,8,2,0.0098,0.0098,0.0098,0);
INSERT INTO "step_summary" VALUES(3,7,9,2,5.90939999999999954899e-03,5.90939999999999954899e-03,5.90939999999999954899e-03,0);
INSERT INTO "step_summary" VALUES(3,7,10,2,9.84899999999999838096e-03,9.84899999999999838096e-03,9.84899999999999838096e-03,0);
INSERT INTO "step_summary" VALUES(3,7,11,2,9.84899999999999838096e-03,9.84899999999999838096e-03,9.84899999999999838096e-03,0);
INSERT INTO "step_summary" VALUES(3,7,12,2,0.0059388,0.0059388,0.0059388,0);
INSERT INTO "step_summary" VALUES(3,7,13,2,0.009898,0.009898,0.009898,0);
INSERT INTO "step_summary" VALUES(3,7,14,2,0.009898,0.009898,0.009898,0);
INSERT INTO "step_summary" VALUES(3,7,15,2,5.8211999999999994651e-03,5.8211999999999994651e-03,5.8211999999999994651e-03,0);
INSERT INTO "step_summary" VALUES(3,7,16,2,0.009702,0.009702,0.009702,0);
INSERT INTO "step_summary" VALUES(3,7,17,2,0.009702,0.009702,0.009702,0);
INSERT INTO "step_summary" VALUES(3,7,18,2,0.0058506,0.0058506,0.0058506,0);
INSERT INTO "step_summary" VALUES(3,7,19,2,0.009751,0.009751,0.009751,0);
INSERT INTO "step_summary" VALUES(3,7,20,2,0.009751,0.009751,0.009751,0);
INSERT INTO "step_summary" VALUES(3,7,21,2,0.00588,0.00588,0.00588,0);
INSERT INTO "step_summary" VALUES(3,7,22,2,0.0098,0.0098,0.0098,0);
INSERT INTO "step_summary" VALUES(3,7,23,2,0.0098,0.0098,0.0098,0);
INSERT INTO "step_summary" VALUES(3,8,0,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,1,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,2,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,3,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,4,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,5,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,6,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,7,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,8,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,9,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,10,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,11,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,12,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,13,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,14,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,15,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,16,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,17,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,18,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,19,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,20,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,21,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,22,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,8,23,2,1200000000.0,1100000000.0,1300000000.0,0);
INSERT INTO "step_summary" VALUES(3,9,0,2,0.891,0.891,0.891,0);
INSERT INTO "step_summary" VALUES(3,9,1,2,1.485,1.485,1.485,0);
INSERT INTO "step_summary" VALUES(3,9,2,2,1.485,1.485,1.485,0);
INSERT INTO "step_summary" VALUES(3,9,3,2,0.8955,0.8955,0.8955,0);
INSERT INTO "step_summary" VALUES(3,9,4,2,1.4925,1.4925,1.4925,0);
INSERT INTO "step_summary" VALUES(3,9,5,2,0.4975,0.4975,0.4975,0);
INSERT INTO "step_summary" VALUES(3,9,6,2,0.3,0.3,0.3,0);
INSERT INTO "step_summary" VALUES(3,9,7,2,0.5,0.5,0.5,0);
INSERT INTO "step_summary" VALUES(3,9,8,2,0.5,0.5,0.5,0);
INSERT INTO "step_summary" VALUES(3,9,9,2,3.01499999999999934718e-01,3.01499999999999934718e-01,3.01499999999999934718e-01,0);
INSERT INTO "step_summary" VALUES(3,9,10,2,0.5025,0.5025,0.5025,0);
INSERT INTO "step_summary" VALUES(3,9,11,2,0.5025,0.5025,0.5025,0);
INSERT INTO "step_summary" VALUES(3,9,12,2,0.303,0.303,0.303,0);
INSERT INTO "step_summary" VALUES(3,9,13,2,0.505,0.505,0.505,0);
INSERT INTO "step_summary" VALUES(3,9,14,2,0.505,0.505,0.505,0);
INSERT INTO "step_summary" VALUES(3,9,15,2,0.297,0.297,0.297,0);
INSERT INTO "step_summary" VALUES(3,9,16,2,0.495,0.495,0.495,0);
INSERT INTO "step_summary" VALUES(3,9,17,2,0.495,0.495,0.495,0);
INSERT INTO "step_summary" VALUES(3,9,18,2,0.2985,0.2985,0.2985,0);
INSERT INTO "step_summary" VALUES(3,9,19,2,0.4975,0.4975,0.4975,0);
INSERT INTO "step_summary" VALUES(3,9,20,2,0.4975,0.4975,0.4975,0);
INSERT INTO "step_summary" VALUES(3,9,21,2,0.3,0.3,0.3,0);
INSERT INTO "step_summary" VALUES(3,9,22,2,0.5,0.5,0.5,0);
INSERT INTO "step_summary" VALUES(3,9,23,2,0.5,0.5,0.5,0);
CREATE TABLE trial(
  investigation_id INT NOT NULL REFERENCES investigation ON DELETE CASCADE,
  sequence INT NOT NULL, -- from 1
  changed TEXT NOT NULL, -- JSON: names
  status TEXT NOT NULL, value_s REAL, cost_gpu_s REAL, run_name TEXT NOT NULL,
  PRIMARY KEY(investigation_id,sequence)) STRICT, WITHOUT ROWID;
CREATE INDEX run_series ON run(series_id);
CREATE INDEX run_number ON run(number);
CREATE INDEX run_name ON run(name);
CREATE INDEX journal_run ON journal(run_id);
CREATE INDEX probe_node_host ON probe_node(hostname);
CREATE INDEX run_submitted ON run(number DESC,run_id DESC);
CREATE INDEX event_kind ON event(kind,run_id);
CREATE INDEX comparison_good ON comparison(good_run_id);
CREATE INDEX change_point_run ON change_point(run_id);
CREATE INDEX change_point_before ON change_point(run_before_id);
CREATE VIEW v_run AS SELECT
  r.number AS run, r.uuid, r.name, s.name AS series, substr(s.work_sha256,1,8) AS work,
  r.job, r.arch, r.user, r.host, r.verdict, r.exit_code, r.cause,
  r.nodes, r.ranks, r.launches, r.steps_planned,
  m.next_step AS steps, m.steps_used, m.steps_repeated,
  m.step_s_median AS step_s, m.step_s_mad, m.step_s_mix, p.step_time_s AS predicted_step_s,
  p.step_time_s/m.step_s_mix AS predicted_over_measured,
  m.samples_per_s, m.samples_per_s/r.ranks AS samples_per_s_rank,
  m.data_share, m.comm_share, m.wait_share, m.loss_first, m.loss_last,
  nullif(m.rss_bytes,0) AS rss_bytes,
  nullif(m.peak_allocated_bytes,0) AS peak_allocated_bytes,
  p.tp_size, p.pp_size, p.sp_size, p.dp_size, p.zero_stage, p.recompute,
  (SELECT value FROM fp_item WHERE fp_id=r.fp_software AND key='osora.commit') AS osora_commit,
  datetime(r.submitted_us/1000000,'unixepoch') AS submitted_utc,
  (coalesce(r.ended_us,r.last_us)-r.submitted_us)/1e6 AS wall_s,
  r.submitted_us, r.started_us, r.first_step_us, r.ended_us, r.run_dir
FROM run r JOIN series s USING(series_id)
LEFT JOIN measured m USING(run_id) LEFT JOIN plan p USING(run_id);
CREATE VIEW v_series AS SELECT
  s.name AS series, substr(s.work_sha256,1,8) AS work, count(*) AS runs,
  min(r.number) AS first_run, max(r.number) AS last_run, s.work AS work_json
FROM series s JOIN run r USING(series_id) GROUP BY s.series_id;
CREATE VIEW v_item AS SELECT
  r.number AS run, r.uuid, f.kind, i.key, i.value
FROM run r
CROSS JOIN fingerprint f ON f.fp_id IN(r.fp_config,r.fp_software,r.fp_env,r.fp_hardware)
CROSS JOIN fp_item i ON i.fp_id=f.fp_id;
CREATE VIEW v_event AS SELECT
  r.number AS run, r.uuid, e.sequence, e.wall_us,
  strftime('%Y-%m-%d %H:%M:%f',e.wall_us/1e6,'unixepoch') AS time_utc,
  (e.wall_us-r.submitted_us)/1e6 AS since_submit_s,
  e.kind, e.severity, nullif(e.epoch,-1) AS epoch, nullif(e.node,-1) AS node, h.hostname,
  nullif(e.rank,-1) AS rank, nullif(e.step,-1) AS step, e.body
FROM event e JOIN run r USING(run_id)
LEFT JOIN run_node n ON n.run_id=e.run_id AND n.node=e.node
LEFT JOIN node h ON h.node_id=n.node_id;
CREATE VIEW v_rank AS SELECT
  r.number AS run, r.uuid, k.rank, k.node, h.hostname, k.epoch, k.pid, k.start_step, k.device,
  k.cpus
FROM run_rank k JOIN run r USING(run_id)
LEFT JOIN run_node n ON n.run_id=k.run_id AND n.node=k.node
LEFT JOIN node h ON h.node_id=n.node_id;
CREATE VIEW v_node AS SELECT
  r.number AS run, r.uuid, n.node, h.hostname, n.boot_id, n.cores,
  h.first_seen_us, h.last_seen_us
FROM run_node n JOIN run r USING(run_id) LEFT JOIN node h USING(node_id);
CREATE VIEW v_metric AS SELECT
  r.number AS run, r.uuid, x.step, m.name AS metric, m.unit,
  x.n AS ranks, x.mean, x.vmin AS min, x.vmax AS max, nullif(x.argmax,-1) AS max_rank
FROM run r CROSS JOIN metric m JOIN step_summary x ON x.run_id=r.run_id AND x.metric_id=m.metric_id;
CREATE VIEW v_bucket AS SELECT
  r.number AS run, r.uuid, b.bucket, p.resolution, p.num_frames, p.micro_batch_size,
  p.grad_accum_steps, p.global_batch_size, b.steps, b.samples_per_step,
  b.step_s_median AS step_s, b.step_s_mad, p.step_time_s AS predicted_step_s,
  p.gflop_per_sample, p.peak_memory_gib AS predicted_peak_memory_gib
FROM measured_bucket b JOIN run r USING(run_id) LEFT JOIN plan_bucket p ON p.run_id=b.run_id
  AND b.bucket=p.height||'x'||p.width||'x'||p.num_frames;
CREATE VIEW v_health AS SELECT
  r.number AS run, r.uuid, x.sequence, x.wall_us,
  datetime(x.wall_us/1000000,'unixepoch') AS time_utc, x.node, h.hostname, x.why, x.load,
  x.memory_available_bytes, x.cgroup_memory_bytes, x.disk_free_bytes
FROM node_health x JOIN run r USING(run_id)
LEFT JOIN run_node n ON n.run_id=x.run_id AND n.node=x.node
LEFT JOIN node h ON h.node_id=n.node_id;
CREATE VIEW v_gpu_health AS SELECT
  r.number AS run, r.uuid, x.sequence, x.wall_us,
  datetime(x.wall_us/1000000,'unixepoch') AS time_utc, x.node, h.hostname, g.gpu,
  g.temperature_c, g.power_w, g.sm_mhz, g.throttle_reasons, g.ecc_uncorrected,
  g.memory_used_bytes, g.xids
FROM gpu_health g JOIN node_health x USING(run_id,sequence) JOIN run r USING(run_id)
LEFT JOIN run_node n ON n.run_id=x.run_id AND n.node=x.node
LEFT JOIN node h ON h.node_id=n.node_id;
CREATE VIEW v_probe_pair AS SELECT
  r.number AS run, r.uuid, p.stage, p.round, p.from_node, a.hostname AS from_host, p.to_node,
  b.hostname AS to_host, p.transport, p.interface, p.network, p.size_bytes, p.seconds,
  8e-9*p.size_bytes/p.seconds AS gbit_s, p.latency_us
FROM probe_pair p JOIN run r USING(run_id)
LEFT JOIN run_node x ON x.run_id=p.run_id AND x.node=p.from_node
LEFT JOIN node a ON a.node_id=x.node_id
LEFT JOIN run_node y ON y.run_id=p.run_id AND y.node=p.to_node
LEFT JOIN node b ON b.node_id=y.node_id;
CREATE VIEW v_collective AS SELECT
  r.number AS run, r.uuid, c.backend, c.collective, c.ranks, c.nodes, c.size_bytes, c.time_us,
  1e-3*c.size_bytes/c.time_us AS algbw_gbps
FROM probe_collective c JOIN run r USING(run_id);
CREATE VIEW v_storage AS SELECT
  r.number AS run, r.uuid, p.node, h.hostname, p.alone, p.path, p.read_bytes_per_s, p.open_us,
  p.files
FROM probe_storage p JOIN run r USING(run_id)
LEFT JOIN run_node n ON n.run_id=p.run_id AND n.node=p.node
LEFT JOIN node h ON h.node_id=n.node_id;
CREATE VIEW v_probe_node AS SELECT
  r.number AS run, r.uuid, r.submitted_us, p.node, p.hostname, p.leaf, p.gbit_s, p.of_median,
  p.samples, p.bad, p.interface
FROM probe_node p JOIN run r USING(run_id);
CREATE VIEW v_finding AS SELECT
  r.number AS run, r.uuid, f.ordinal, f.kind, f.place, f.nodes AS nodes_json, f.ratio, f.evidence
FROM probe_finding f JOIN run r USING(run_id);
CREATE VIEW v_window AS SELECT
  r.number AS run, r.uuid, w.ordinal AS window, w.epoch, w.first_step, w.last_step, w.nodes,
  w.ranks, w.buckets AS buckets_json, w.steps, w.steps_used, w.step_s_median AS step_s,
  w.step_s_mad, w.samples_per_s
FROM run_window w JOIN run r USING(run_id);
CREATE VIEW v_span AS SELECT
  r.number AS run, r.uuid, x.name, x.epoch, x.step, x.from_us, x.to_us,
  (x.to_us-x.from_us)/1e6 AS seconds
FROM (SELECT run_id,name,epoch,step,from_us,to_us FROM span UNION ALL
      SELECT run_id,'train',epoch,NULL,first_step_us,last_step_us FROM launch
      WHERE first_step_us NOT NULL AND last_step_us>=first_step_us) x JOIN run r USING(run_id);
CREATE VIEW v_attribution AS SELECT
  r.number AS run, r.uuid, g.number AS good_run, g.uuid AS good_uuid, c.verdict, a.part,
  a.good_s, a.run_s, a.gap_s, a.gap_low_s, a.gap_high_s, a.of_gap, c.good_s AS step_good_s,
  c.run_s AS step_s, c.gap_s AS step_gap_s, c.gap_low_s AS step_gap_low_s,
  c.gap_high_s AS step_gap_high_s, c.intervals, c.attributable
FROM comparison c JOIN attribution a USING(run_id) JOIN run r USING(run_id)
JOIN run g ON g.run_id=c.good_run_id;
CREATE VIEW v_change_point AS SELECT
  r.number AS run, r.uuid, s.name AS series, substr(s.work_sha256,1,8) AS work, r.nodes, r.ranks,
  b.number AS run_before, p.low_run, p.high_run, p.before_s, p.after_s,
  p.after_s/p.before_s AS ratio, p.p, p.method
FROM change_point p JOIN series s USING(series_id) JOIN run r USING(run_id)
JOIN run b ON b.run_id=p.run_before_id;
CREATE VIEW v_investigation AS SELECT
  r.number AS run, nullif(i.bad_uuid,'') AS uuid, i.id AS investigation, i.kind,
  coalesce(nullif(i.series,''),s.name) AS series, g.number AS good_run,
  nullif(i.good_uuid,'') AS good_uuid, i.rung, i.steps, i.verdict,
  nullif(i.relation,'') AS relation, i.p, i.explained, i.good_s, i.bad_s,
  (SELECT count(*) FROM trial t WHERE t.investigation_id=i.investigation_id) AS trials,
  (SELECT sum(cost_gpu_s)/3600 FROM trial t WHERE t.investigation_id=i.investigation_id)
    AS cost_gpu_h,
  datetime(i.ended_us/1000000,'unixepoch') AS ended_utc, i.ended_us
FROM investigation i LEFT JOIN run r ON r.uuid=i.bad_uuid LEFT JOIN series s USING(series_id)
LEFT JOIN run g ON g.uuid=i.good_uuid;
CREATE VIEW v_trial AS SELECT
  r.number AS run, r.uuid, i.id AS investigation, i.kind, t.sequence, t.changed AS changed_json,
  t.status, t.value_s AS step_s, t.cost_gpu_s, nullif(t.run_name,'') AS name
FROM trial t JOIN investigation i USING(investigation_id)
LEFT JOIN run r ON t.run_name<>'' AND r.name=t.run_name AND
  substr(r.run_dir,-length(r.name)-1)='/'||r.name;
CREATE VIEW v_culprit AS SELECT
  r.number AS run, nullif(i.bad_uuid,'') AS uuid, i.id AS investigation, i.kind, c.ordinal, c.item,
  c.good, c.bad, c.share, c.low AS share_low, c.high AS share_high, c.holds,
  nullif(c.reason,'') AS reason
FROM culprit c JOIN investigation i USING(investigation_id) LEFT JOIN run r ON r.uuid=i.bad_uuid;
CREATE VIEW v_step AS SELECT r.number AS run, r.uuid, t.step, t.epoch, t.ranks, t.samples, t.bucket, t.repeated,
 (SELECT mean FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id=(SELECT metric_id FROM metric WHERE name='step_time_s')) AS step_time_s,
 (SELECT mean FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id=(SELECT metric_id FROM metric WHERE name='data_wait_s')) AS data_wait_s,
 (SELECT mean FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id=(SELECT metric_id FROM metric WHERE name='forward_s')) AS forward_s,
 (SELECT mean FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id=(SELECT metric_id FROM metric WHERE name='backward_s')) AS backward_s,
 (SELECT mean FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id=(SELECT metric_id FROM metric WHERE name='exposed_comm_s')) AS exposed_comm_s,
 (SELECT mean FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id=(SELECT metric_id FROM metric WHERE name='optimizer_s')) AS optimizer_s,
 (SELECT mean FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id=(SELECT metric_id FROM metric WHERE name='other_s')) AS other_s,
 (SELECT mean FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id=(SELECT metric_id FROM metric WHERE name='arrival_s')) AS arrival_s,
 (SELECT mean FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id=(SELECT metric_id FROM metric WHERE name='loss')) AS loss,
 (SELECT mean FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id=(SELECT metric_id FROM metric WHERE name='grad_norm')) AS grad_norm,
 (SELECT mean FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id=(SELECT metric_id FROM metric WHERE name='lr')) AS lr,
 (SELECT vmax FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id=(SELECT metric_id FROM metric WHERE name='step_time_s')) AS step_time_max_s,
 (SELECT vmin FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id=(SELECT metric_id FROM metric WHERE name='exposed_comm_s')) AS exposed_comm_min_s,
 (SELECT vmax FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id=(SELECT metric_id FROM metric WHERE name='arrival_s')) AS arrival_max_s,
 (SELECT nullif(argmax,-1) FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id=(SELECT metric_id FROM metric WHERE name='arrival_s')) AS last_rank,
 (SELECT vmax FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id=(SELECT metric_id FROM metric WHERE name='rss_bytes')) AS rss_max_bytes,
 (SELECT vmax FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id=(SELECT metric_id FROM metric WHERE name='peak_allocated_bytes')) AS peak_allocated_max_bytes
FROM step t JOIN run r USING(run_id);
COMMIT;
PRAGMA application_id=1330859858;
PRAGMA user_version=7;
