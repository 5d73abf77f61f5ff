// Every view identifies its run twice: `run`, the number that users type, and `uuid`, which is the
// same in every copy of a history.
#include "db/store/views.hpp"

#include "db/store/connection_internal.hpp"

#include <string>
#include <vector>

namespace osora::db {
namespace {

constexpr char const* kRunViews = R"sql(
CREATE VIEW v_run AS SELECT
  r.number AS run, r.uuid, r.name, s.name AS series, substr(s.work_sha256,1,8) AS work,
  r.job, r.arch, r.user, r.host, r.verdict, r.exit_code, r.cause,
  r.nodes, r.ranks, r.launches, r.steps_planned,
  m.next_step AS steps, m.steps_used, m.steps_repeated,
  m.step_s_median AS step_s, m.step_s_mad, m.step_s_mix, p.step_time_s AS predicted_step_s,
  CASE WHEN p.first_stage_step=0 OR m.next_step<=p.first_stage_step
    THEN p.step_time_s/m.step_s_mix END AS predicted_over_measured,
  m.samples_per_s, m.samples_per_s/r.ranks AS samples_per_s_rank,
  m.data_share, m.comm_share, m.wait_share, m.loss_first, m.loss_last,
  nullif(m.rss_bytes,0) AS rss_bytes,
  nullif(m.peak_allocated_bytes,0) AS peak_allocated_bytes,
  p.tp_size, p.pp_size, p.sp_size, p.sp_kind, p.dp_size, p.zero_stage, p.shard_size, p.recompute,
  (SELECT value FROM fp_item WHERE fp_id=r.fp_software AND key='osora.commit') AS osora_commit,
  datetime(r.submitted_us/1000000,'unixepoch') AS submitted_utc,
  (coalesce(r.ended_us,r.last_us)-coalesce(r.started_us,r.submitted_us))/1e6 AS wall_s,
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
  e.kind, e.severity, nullif(e.attempt,-1) AS attempt, nullif(e.node,-1) AS node, h.hostname,
  nullif(e.rank,-1) AS rank, nullif(e.step,-1) AS step, e.body
FROM event e JOIN run r USING(run_id)
LEFT JOIN run_node n ON n.run_id=e.run_id AND n.node=e.node
LEFT JOIN node h ON h.node_id=n.node_id;

CREATE VIEW v_rank AS SELECT
  r.number AS run, r.uuid, k.rank, k.node, h.hostname, k.attempt, k.pid, k.start_step, k.device,
  k.cpus
FROM run_rank k JOIN run r USING(run_id)
LEFT JOIN run_node n ON n.run_id=k.run_id AND n.node=k.node
LEFT JOIN node h ON h.node_id=n.node_id;

CREATE VIEW v_node AS SELECT
  r.number AS run, r.uuid, n.node, h.hostname, n.boot_id, n.cores,
  h.first_seen_us, h.last_seen_us
FROM run_node n JOIN run r USING(run_id) LEFT JOIN node h USING(node_id);
)sql";

constexpr char const* kStepViews = R"sql(
CREATE VIEW v_metric AS SELECT
  r.number AS run, r.uuid, x.step, m.name AS metric, m.unit,
  x.n AS ranks, x.mean, x.vmin AS min, x.vmax AS max, nullif(x.argmax,-1) AS max_rank
FROM run r CROSS JOIN metric m JOIN step_summary x ON x.run_id=r.run_id AND x.metric_id=m.metric_id;

CREATE VIEW v_bucket AS SELECT
  r.number AS run, r.uuid, b.bucket, p.resolution, p.num_frames, p.micro_batch_size,
  p.grad_accum_steps, p.global_batch_size, b.steps, b.samples_per_step,
  b.step_s_median AS step_s, b.step_s_mad, p.step_time_s AS predicted_step_s,
  p.gflop_per_sample, p.tokens_per_sample, p.peak_memory_gib AS predicted_peak_memory_gib
FROM measured_bucket b JOIN run r USING(run_id) LEFT JOIN plan_bucket p ON p.run_id=b.run_id
  AND b.bucket=p.height||'x'||p.width||'x'||p.num_frames;
)sql";

constexpr char const* kNodeViews = R"sql(
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
  1e-3*c.size_bytes/c.time_us AS algbw_gbps, NULL AS class, NULL AS bucket, NULL AS attempt,
  NULL AS warmup, NULL AS rank_steps, NULL AS calls, NULL AS bytes, NULL AS seconds,
  NULL AS exposed_s
FROM probe_collective c JOIN run r USING(run_id)
UNION ALL SELECT
  r.number, r.uuid, s.backend, s.collective, s.ranks,
  CASE WHEN s.ranks=r.ranks THEN r.nodes END, s.bytes/s.calls, 1e6*s.seconds/s.calls,
  1e-9*nullif(s.bytes,0)/nullif(s.seconds,0), s.class, nullif(s.bucket,''), s.attempt, s.warmup,
  s.rank_steps, s.calls, CAST(s.bytes AS INT), s.seconds, s.exposed_s
FROM collective_sum s JOIN run r USING(run_id);

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
)sql";

constexpr char const* kDerivedViews = R"sql(
CREATE VIEW v_window AS SELECT
  r.number AS run, r.uuid, w.ordinal AS window, w.attempt, w.first_step, w.last_step, w.nodes,
  w.ranks, w.buckets AS buckets_json, w.steps, w.steps_used, w.step_s_median AS step_s,
  w.step_s_mad, w.samples_per_s
FROM run_window w JOIN run r USING(run_id);

CREATE VIEW v_span AS SELECT
  r.number AS run, r.uuid, x.name, x.attempt, x.step, x.from_us, x.to_us,
  (x.to_us-x.from_us)/1e6 AS seconds
FROM (SELECT run_id,name,attempt,step,from_us,to_us FROM span UNION ALL
      SELECT run_id,'train',attempt,NULL,first_step_us,last_step_us FROM launch
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
)sql";

// The run of an investigation is the subject: the slow one, or the one whose sizes are tried. A
// trial's run is found by its folder, because an imported run may have the same name.
constexpr char const* kInvestigationViews = R"sql(
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
)sql";

/// The value of a step's metric, as a column of v_step.
std::string step_column(char const* value, char const* metric, std::string const& name) {
    return std::string(",\n (SELECT ") + value +
           " FROM step_summary x WHERE x.run_id=t.run_id AND x.step=t.step AND x.metric_id="
           "(SELECT metric_id FROM metric WHERE name='" +
           metric + "')) AS " + name;
}

/// One row per step; an unused column costs nothing in a query.
std::string step_view() {
    std::string sql =
        "CREATE VIEW v_step AS SELECT r.number AS run, r.uuid, t.step, t.attempt, t.ranks, "
        "t.samples, t.bucket, t.repeated";
    for (char const* metric :
         {"step_time_s", "data_wait_s", "forward_s", "backward_s", "exposed_comm_s", "optimizer_s",
          "other_s", "arrival_s", "loss", "grad_norm", "lr"}) {
        sql += step_column("mean", metric, metric);
    }
    sql += step_column("vmax", "step_time_s", "step_time_max_s");
    sql += step_column("vmin", "exposed_comm_s", "exposed_comm_min_s");
    sql += step_column("vmax", "arrival_s", "arrival_max_s");
    sql += step_column("nullif(argmax,-1)", "arrival_s", "last_rank");
    sql += step_column("vmax", "rss_bytes", "rss_max_bytes");
    sql += step_column("vmax", "peak_allocated_bytes", "peak_allocated_max_bytes");
    return sql + "\nFROM step t JOIN run r USING(run_id);";
}

}  // namespace

void drop_views(Connection& connection) {
    std::vector<std::string> old;
    {
        SQLite::Statement row(connection.database(),
                              "SELECT name FROM sqlite_master WHERE type='view' AND name GLOB "
                              "'v_*'");
        while (row.executeStep()) old.push_back(row.getColumn(0).getString());
    }
    for (auto const& name : old) connection.database().exec("DROP VIEW \"" + name + "\"");
}

void make_views(Connection& connection) {
    for (char const* views :
         {kRunViews, kStepViews, kNodeViews, kDerivedViews, kInvestigationViews}) {
        connection.database().exec(views);
    }
    connection.database().exec(step_view());
}

}  // namespace osora::db
