// The answer first: the step time, then its parts, then the values to compare it with.
#include "cli/trial/rehearsal_result.hpp"

#include "base/text/printable.hpp"
#include "cli/text/terminal.hpp"
#include "cli/text/text_table.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::cli {
namespace {

namespace json = protocol::json;

double mean_of(db::analysis::RunReport const& report, std::string_view phase) {
    auto const found = std::ranges::find(report.phases, phase, &db::analysis::PhaseRow::name);
    return found == report.phases.end() ? db::kUnknown : found->mean_s;
}

std::string timed(double seconds) {
    if (std::isnan(seconds)) return "-";
    auto const unit = time_unit({seconds});
    return seconds_cell(seconds, unit).text + " " + unit.name;
}

std::string shared(double seconds, double step_s) {
    return fmt::format("{} ({:.0f} %)", timed(seconds), 100 * seconds / step_s);
}

std::string expected_line(db::analysis::RunReport const& report) {
    auto const& plan = report.run.plan->predicted;
    return fmt::format("{} by the plan: compute {}, exposed comm {}", timed(plan.step_time_s),
                       timed(plan.compute_s), timed(plan.exposed_comm_s));
}

std::string trained_line(TrainedRun const& trained, double step_s) {
    std::string const run = fmt::format("{} in run {}", timed(trained.step_s), trained.number);
    if (!trained.alike) return run + ", of another size, batch or way of reducing";
    return fmt::format("{}; the rehearsal took {:.2f} of it", run, step_s / trained.step_s);
}

json::value trained_value(std::optional<TrainedRun> const& trained, double step_s) {
    if (!trained) return nullptr;
    double const ratio = trained->alike ? step_s / trained->step_s : db::kUnknown;
    return json::object{{"run", trained->number},
                        {"step_s", protocol::to_json(trained->step_s)},
                        {"alike", trained->alike},
                        {"rehearsed_over_trained", protocol::to_json(ratio)}};
}

json::value predicted_value(std::optional<db::PlanRecord> const& plan) {
    if (!plan) return nullptr;
    auto const& predicted = plan->predicted;
    return json::object{{"step_s", protocol::to_json(predicted.step_time_s)},
                        {"compute_s", protocol::to_json(predicted.compute_s)},
                        {"exposed_comm_s", protocol::to_json(predicted.exposed_comm_s)}};
}

}  // namespace

RehearsalSplit rehearsal_split(db::analysis::RunReport const& report) {
    bool const alone = report.run.run.ranks < 2;
    std::map<std::string, double> exposed_by_class_s;
    for (auto const& each : report.collectives) exposed_by_class_s[each.name] += each.exposed_s;
    return {.compute_s = mean_of(report, "compute"),
            .exposed_comm_s = alone ? 0 : mean_of(report, "exposed comm"),
            .wait_s = alone ? 0 : mean_of(report, "wait for ranks"),
            .data_wait_s = mean_of(report, "data wait"),
            .other_s = mean_of(report, "other"),
            .exposed_by_class_s = std::move(exposed_by_class_s)};
}

std::string compute_source(std::vector<plan::BucketCompute> const& compute) {
    std::vector<std::string> sources;
    for (auto const& each : compute) {
        if (std::ranges::find(sources, each.source) == sources.end())
            sources.push_back(each.source);
    }
    std::string text;
    for (auto const& each : sources) text += (text.empty() ? "" : "; ") + each;
    return text;
}

std::string rehearsal_text(RehearsalResult const& result) {
    auto const& report = result.report;
    auto const& m = report.measured;
    if (m.steps_used == 0) return block("step", "none was measured");
    auto const split = rehearsal_split(report);
    auto const unit = time_unit({m.step_s_median});
    std::string text =
        block("step", fmt::format("{} {} (median ± MAD of {} steps; {} of warm-up left out)",
                                  spread_cell(m.step_s_median, m.step_s_mad, unit).text, unit.name,
                                  m.steps_used, m.warmup_steps));
    double const step_s = mean_of(report, "step");
    text += block("compute", fmt::format("{}, own work as of: {}", shared(split.compute_s, step_s),
                                         compute_source(result.compute)));
    if (report.run.run.ranks > 1) {
        text += block("comm", fmt::format("{} exposed; {} waiting for slower ranks",
                                          shared(split.exposed_comm_s, step_s),
                                          shared(split.wait_s, step_s)));
    }
    if (split.data_wait_s > 0) text += block("data", shared(split.data_wait_s, step_s) + " waited");
    if (report.run.plan) text += block("expected", expected_line(report));
    if (result.trained) text += block("trained", trained_line(*result.trained, m.step_s_median));
    return text + block("next", fmt::format("osora report {}", report.run.run.number));
}

std::string rehearsal_json(RehearsalResult const& result) {
    auto const& report = result.report;
    auto const& run = report.run.run;
    auto const& m = report.measured;
    auto const split = rehearsal_split(report);
    json::array buckets;
    for (auto const& each : result.compute) buckets.push_back(protocol::to_json(each));
    json::object const object{
        {"schema", "osora.rehearse/1"},
        {"run", json::object{{"number", run.number}, {"name", run.name}, {"run_dir", run.run_dir}}},
        {"nodes", run.nodes},
        {"ranks", run.ranks},
        {"steps_used", m.steps_used},
        {"warmup_steps", m.warmup_steps},
        {"step_s", protocol::to_json(m.step_s_median)},
        {"step_s_mad", protocol::to_json(m.step_s_mad)},
        {"compute_s", protocol::to_json(split.compute_s)},
        {"exposed_comm_s", protocol::to_json(split.exposed_comm_s)},
        {"wait_s", protocol::to_json(split.wait_s)},
        {"data_wait_s", protocol::to_json(split.data_wait_s)},
        {"other_s", protocol::to_json(split.other_s)},
        {"samples_per_s", protocol::to_json(m.samples_per_s)},
        {"compute_source", compute_source(result.compute)},
        {"compute", buckets},
        {"predicted", predicted_value(report.run.plan)},
        {"trained", trained_value(result.trained, m.step_s_median)}};
    return printable_json(json::serialize(object)) + "\n";
}

}  // namespace osora::cli
