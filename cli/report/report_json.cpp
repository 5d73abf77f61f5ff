// Reports as JSON. Names are part of the contract with scripts: add names, do not change them.
#include "base/text/printable.hpp"
#include "cli/report/report_render.hpp"
#include "cli/report/trend_text.hpp"
#include "cli/report/work_rate.hpp"
#include "protocol/json.hpp"

namespace osora::cli {
namespace {

using namespace db::analysis;
namespace json = protocol::json;
using protocol::to_json;

template <class T>
json::value known(std::optional<T> const& value) {
    return to_json(value);
}

json::object run_object(db::analysis::RunSummary const& summary, RunState const& state) {
    auto const& run = summary.run;
    return {{"number", run.number},
            {"name", run.name},
            {"uuid", run.uuid},
            {"series", run.series},
            {"job", run.job},
            {"arch", run.arch},
            {"user", run.user},
            {"host", run.host},
            {"run_dir", run.run_dir},
            {"state", state.status},
            {"verdict", state.over ? json::value(json::string(state.word)) : json::value()},
            {"exit_code", run.exit_code},
            {"cause", state.cause},
            {"nodes", run.nodes},
            {"ranks", run.ranks},
            {"device", summary.device},
            {"steps_planned", run.steps_planned},
            {"launches", run.launches},
            {"submitted_us", known(run.submitted_us)},
            {"first_step_us", known(run.first_step_us)},
            {"ended_us", known(run.ended_us)}};
}

json::object measured_object(Measured const& m) {
    return {{"steps", m.steps},
            {"next_step", m.next_step},
            {"steps_used", m.steps_used},
            {"warmup_steps", m.warmup_steps},
            {"steps_incomplete", m.steps_incomplete},
            {"steps_repeated", m.steps_repeated},
            {"steps_undone", m.steps_undone},
            {"step_s_median", to_json(m.step_s_median)},
            {"step_s_mad", to_json(m.step_s_mad)},
            {"step_s_mix", to_json(m.step_s_mix)},
            {"samples_per_s", to_json(m.samples_per_s)},
            {"data_share", to_json(m.data_share)},
            {"comm_share", to_json(m.comm_share)},
            {"wait_share", to_json(m.wait_share)},
            {"loss_window", m.loss_window},
            {"loss_first", to_json(m.loss_first)},
            {"loss_last", to_json(m.loss_last)},
            {"peak_rss_bytes", m.rss_bytes},
            {"peak_allocated_bytes", m.peak_allocated_bytes}};
}

json::object measured_object(RunReport const& report) {
    auto object = measured_object(report.measured);
    Utilisation const used = utilisation_of(report);
    object["flop_per_s_rank"] = to_json(used.flop_per_s);
    object["mfu"] = to_json(used.mfu);
    object["tokens_per_s"] = to_json(report.work.tokens_per_s);
    return object;
}

json::value plan_value(std::optional<db::PlanRecord> const& plan) {
    if (!plan) return nullptr;
    auto const& layout = plan->chosen;
    json::array buckets;
    for (auto const& each : layout.buckets) {
        buckets.push_back({{"bucket", each.label()},
                           {"resolution", each.resolution},
                           {"num_frames", each.num_frames},
                           {"micro_batch_size", each.micro_batch_size},
                           {"grad_accum_steps", each.grad_accum_steps},
                           {"global_batch_size", each.global_batch_size},
                           {"step_time_s", to_json(each.step_time_s)}});
    }
    return json::object{{"tp_size", layout.tp_size},
                        {"pp_size", layout.pp_size},
                        {"sp_size", layout.sp_size},
                        {"sp_kind", layout.sp_kind},
                        {"dp_size", layout.dp_size},
                        {"zero_stage", layout.zero_stage},
                        {"shard_size", layout.shard_size},
                        {"num_workers", layout.num_workers},
                        {"threads_per_rank", layout.threads_per_rank},
                        {"step_time_error", to_json(plan->predicted.step_time_error)},
                        {"buckets", buckets}};
}

json::object compared_object(Compared const& compared) {
    return {{"predicted", to_json(compared.predicted)},
            {"measured", to_json(compared.measured)},
            {"predicted_over_measured", to_json(compared.ratio())}};
}

template <class Rows, class F>
json::array array_of(Rows const& rows, F object_of) {
    json::array array;
    for (auto const& row : rows) array.push_back(object_of(row));
    return array;
}

json::object bucket_object(BucketRow const& row) {
    return {{"bucket", row.measured.bucket},
            {"steps", row.measured.steps},
            {"share", row.share},
            {"samples_per_step", to_json(row.measured.samples_per_step)},
            {"samples_per_s", to_json(row.samples_per_s)},
            {"step_s_median", to_json(row.measured.step_s_median)},
            {"step_s_mad", to_json(row.measured.step_s_mad)},
            {"predicted_s", to_json(row.step_s.predicted)},
            {"predicted_over_measured", to_json(row.step_s.ratio())}};
}

json::object stage_object(StageRow const& row) {
    auto buckets = array_of(row.buckets, [](StageBucket const& each) {
        return json::object{{"bucket", each.bucket},
                            {"steps", each.steps},
                            {"step_s_median", to_json(each.step_s_median)}};
    });
    return {{"stage", row.index},
            {"first_step", row.first_step},
            {"steps", row.steps},
            {"steps_used", row.steps_used},
            {"step_s_median", to_json(row.step_s_median)},
            {"predicted_s", to_json(row.predicted_s)},
            {"buckets", std::move(buckets)}};
}

json::object phase_object(PhaseRow const& row) {
    return {{"name", row.name},
            {"mean_s", to_json(row.mean_s)},
            {"share", to_json(row.share)},
            {"predicted_s", to_json(row.predicted_s)}};
}

json::object collective_object(CollectiveRow const& row) {
    return {{"class", row.name},
            {"collective", row.collective},
            {"backend", row.backend},
            {"ranks", row.ranks},
            {"calls", to_json(row.calls)},
            {"bytes", to_json(row.bytes)},
            {"seconds", to_json(row.seconds)},
            {"exposed_s", to_json(row.exposed_s)},
            {"algbw_gbps", to_json(row.algbw_gbps)}};
}

json::object probe_object(db::ProbeRecord const& probe) {
    auto nodes = array_of(probe.nodes, [](db::ProbeNode const& each) {
        return json::object{{"node", each.hostname},   {"leaf", each.leaf},
                            {"gbit_s", each.gbit_s},   {"of_median", each.of_median},
                            {"samples", each.samples}, {"slow", each.bad}};
    });
    auto findings = array_of(probe.findings, [](db::ProbeTrouble const& each) {
        return json::object{
            {"kind", each.kind}, {"place", each.place}, {"evidence", each.evidence}};
    });
    return {{"nodes", std::move(nodes)}, {"findings", std::move(findings)}};
}

json::object relaunch_object(Relaunch const& each) {
    return {{"attempt", each.attempt},
            {"start_step", each.start_step},
            {"down_s", to_json(each.down_s)},
            {"cause", each.cause},
            {"asked", each.asked}};
}

json::object notice_object(NoticeGroup const& each) {
    return {{"kind", each.kind},
            {"severity", each.severity},
            {"count", each.count},
            {"first", each.first}};
}

json::object scaling_object(ScalingRow const& row) {
    return {{"ranks", row.ranks},
            {"nodes", row.nodes},
            {"threads_per_rank", row.threads_per_rank},
            {"runs", to_json(row.runs)},
            {"global_batch_size", to_json(row.global_batch)},
            {"stage_batch_size", to_json(row.stage_batch)},
            {"step_s", to_json(row.step_s)},
            {"step_s_mad", to_json(row.mad)},
            {"samples_per_s", to_json(row.samples_per_s)},
            {"efficiency", to_json(row.efficiency)},
            {"comm_share", to_json(row.comm_share)},
            {"wait_share", to_json(row.wait_share)},
            {"data_share", to_json(row.data_share)},
            {"predicted_over_measured", to_json(row.predicted_over_measured)},
            {"shares_cores", row.shares_cores},
            {"cores", row.cores},
            {"loss", row.loss}};
}

json::object trend_object(std::string const& series, Detection const& trend) {
    json::array changes;
    for (auto const& point : trend.robust.points) {
        auto const at = static_cast<std::size_t>(point.index);
        auto const& submitted_us = trend.group.submitted_us[at];
        changes.push_back(json::object{
            {"run", trend.group.numbers[at]},
            {"submitted_us", submitted_us ? json::value(*submitted_us) : json::value()},
            {"before_s", to_json(point.before)},
            {"after_s", to_json(point.after)},
            {"effect", to_json(point.effect())}});
    }
    return {
        {"ranks", trend.group.size.ranks},           {"nodes", trend.group.size.nodes},
        {"runs", to_json(trend.group.numbers)},      {"step_s", to_json(trend.group.step_s)},
        {"state", to_json(trend.verdict.value)},     {"regression", to_json(regression_of(trend))},
        {"sentence", trend_sentence(series, trend)}, {"changes", std::move(changes)}};
}

json::array slowest_ranks(std::vector<db::analysis::RankWork> const& ranks) {
    constexpr std::size_t kShown = 16;
    json::array array;
    for (auto const& each : ranks) {
        if (array.size() == kShown) break;
        array.push_back(json::object{{"rank", each.rank},
                                     {"steps", each.steps},
                                     {"own_work_s", to_json(each.median_s)},
                                     {"excess", to_json(each.excess)}});
    }
    return array;
}

}  // namespace

std::string report_json(RunReport const& report) {
    json::object const object{
        {"schema", "osora.report/1"},
        {"kind", "run"},
        {"run", run_object(report.run, report.state)},
        {"commit", report.commit},
        {"wall_s", to_json(report.wall_s)},
        {"plan", plan_value(report.run.plan)},
        {"measured", measured_object(report)},
        {"compared", json::object{{"step_s", compared_object(report.step_s)},
                                  {"samples_per_s", compared_object(report.samples_per_s)},
                                  {"peak_memory_gib", compared_object(report.memory_gib)},
                                  {"rank_balance", compared_object(report.rank_balance)}}},
        {"outside_expected", report.outside_expected},
        {"phases", array_of(report.phases, phase_object)},
        {"buckets", array_of(report.buckets, bucket_object)},
        {"stages", array_of(report.stages, stage_object)},
        {"collectives", array_of(report.collectives, collective_object)},
        {"relaunches", array_of(report.relaunches, relaunch_object)},
        {"checkpoints", json::object{{"count", report.checkpoints.count},
                                     {"last_step", report.checkpoints.last_step},
                                     {"seconds_median", to_json(report.checkpoints.median_s)},
                                     {"bytes", report.checkpoints.bytes}}},
        {"evaluations", json::object{{"count", report.evaluations.count},
                                     {"last_step", report.evaluations.last_step},
                                     {"last_loss", to_json(report.evaluations.last_loss)},
                                     {"best_step", report.evaluations.best_step},
                                     {"best_loss", to_json(report.evaluations.best_loss)},
                                     {"samples", report.evaluations.samples}}},
        {"notices", array_of(report.notices, notice_object)},
        {"findings", to_json(report.findings)},
        {"shares_cores", report.cores.shared},
        {"cores", report.cores.text},
        {"slow_rank", to_json(report.straggler)},
        {"slowest_ranks", slowest_ranks(report.rank_work)},
        {"bottlenecks", to_json(report.bottlenecks)},
        {"probe", probe_object(report.probe)},
        {"next", to_json(report.next)}};
    return printable_json(json::serialize(object)) + "\n";
}

std::string report_json(SeriesReport const& report) {
    auto const left_out = array_of(report.left_out, [](LeftOut const& each) {
        return json::object{{"number", each.number}, {"name", each.name}, {"reason", each.reason}};
    });
    auto const trends = array_of(
        report.trends, [&](Detection const& each) { return trend_object(report.name, each); });
    json::object const object{{"schema", "osora.report/1"},
                              {"kind", "series"},
                              {"series", report.name},
                              {"work", to_json(report.work)},
                              {"scaling", to_json(report.scaling)},
                              {"held_equal", report.held_equal},
                              {"runs", report.runs},
                              {"rows", array_of(report.rows, scaling_object)},
                              {"trends", trends},
                              {"left_out", left_out},
                              {"notes", to_json(report.notes)},
                              {"next", to_json(report.next)}};
    return printable_json(json::serialize(object)) + "\n";
}

std::string history_json(std::vector<HistoryRow> const& rows) {
    json::array runs;
    for (auto const& row : rows) {
        auto object = run_object(row.run, row.state);
        object["measured"] =
            row.run.measured ? json::value(measured_object(*row.run.measured)) : json::value();
        runs.push_back(std::move(object));
    }
    return printable_json(
               json::serialize(json::object{{"schema", "osora.history/1"}, {"runs", runs}})) +
           "\n";
}

}  // namespace osora::cli
