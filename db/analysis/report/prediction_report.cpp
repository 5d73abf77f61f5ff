#include "db/analysis/report/prediction_report.hpp"

#include "base/robust.hpp"
#include "base/text/units.hpp"
#include "db/analysis/run_size.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace osora::db::analysis {
namespace {

std::string layout_of(PlannedLayout const& plan) {
    std::string text;
    auto const add = [&](char const* name, int size, int least) {
        if (size < least) return;
        text += fmt::format("{}{} {}", text.empty() ? "" : " · ", name, size);
    };
    add("tp", plan.tp_size, 2);
    add("sp", plan.sp_size, 2);
    if (!plan.sp_kind.empty()) text += " " + plan.sp_kind;
    add("pp", plan.pp_size, 2);
    add("dp", plan.dp_size, 2);
    add("ZeRO", plan.zero_stage, 1);
    return text.empty() ? "1 rank" : text;
}

double gib_or_unknown(std::int64_t bytes) {
    return bytes > 0 ? gib(bytes) : kUnknown;
}

}  // namespace

double PredictionRow::error() const {
    return std::abs(ratio() - 1);
}

bool plan_covers(RunSummary const& run) {
    if (!run.plan || !run.measured) return true;
    int const stage = run.plan->chosen.first_stage_step;
    return stage <= 0 || run.measured->next_step <= stage;
}

PredictionReport prediction_report(std::vector<RunSummary> const& runs) {
    PredictionReport report;
    std::vector<double> errors;
    double sum = 0;
    for (RunSummary const& each : runs) {
        if (!each.plan || !has_enough_steps(each) || !plan_covers(each)) continue;
        auto const& predicted = each.plan->predicted;
        if (!(predicted.step_time_s > 0) || !(each.measured->step_s_mix > 0)) continue;
        PredictionRow row{.number = each.run.number,
                          .name = each.run.name,
                          .nodes = each.run.nodes,
                          .ranks = each.run.ranks,
                          .layout = layout_of(each.plan->chosen),
                          .predicted_s = predicted.step_time_s,
                          .measured_s = each.measured->step_s_mix,
                          .stated_error = predicted.step_time_error,
                          .predicted_gib = predicted.peak_memory_gib,
                          .measured_gib = gib_or_unknown(each.measured->peak_allocated_bytes)};
        errors.push_back(row.error());
        sum += row.error();
        if (report.rows.empty() || row.error() > report.worst_error) {
            report.worst_error = row.error();
            report.worst_run = row.number;
        }
        if (!std::isnan(row.stated_error)) {
            ++report.with_stated_error;
            report.covered += row.covered() ? 1 : 0;
        }
        report.rows.push_back(std::move(row));
    }
    report.mean_error = errors.empty() ? kUnknown : sum / static_cast<double>(errors.size());
    if (errors.empty()) report.worst_error = kUnknown;
    report.median_error = median(std::move(errors));
    return report;
}

}  // namespace osora::db::analysis
