#include "cli/history/step_series.hpp"

#include "base/text/csv.hpp"
#include "cli/history/event_file.hpp"
#include "protocol/journal/event_limits.hpp"
#include "protocol/steps/merged_steps.hpp"
#include "protocol/steps/step_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::cli {
namespace {

using protocol::FigureSummary;
using protocol::MergedSteps;

constexpr double kMicrosecond_s = 1e-6;
constexpr std::size_t kStepTime = 3;
static_assert(kStepFigures[kStepTime].name == "step_time_s");

FigureSummary summary_at(MergedSteps const& steps, std::string_view name, std::size_t index) {
    auto const column = steps.columns.find(std::string(name));
    return column == steps.columns.end() ? FigureSummary{}
                                         : summary_of(steps, column->first, column->second, index);
}

void merge(StepSeries::Figure& into, FigureSummary const& from, bool is_maximum) {
    if (from.n <= 0) return;
    double const value = is_maximum ? from.max : from.mean;
    if (into.ranks == 0) {
        into = {from.n, value};
        return;
    }
    auto const mine = static_cast<double>(into.ranks), other = static_cast<double>(from.n);
    into.value = is_maximum ? std::fmax(into.value, value)
                            : (into.value * mine + value * other) / (mine + other);
    into.ranks += from.n;
}

std::string csv_cell(double value) {
    return std::isnan(value) ? std::string() : fmt::format("{}", value);
}

}  // namespace

double StepSeries::Row::samples_per_s() const {
    double const time_s = figures[kStepTime].value;
    return time_s > 0 && samples > 0 ? samples / time_s : std::nan("");
}

void StepSeries::take(protocol::JournalRecord const& record) {
    if (!protocol::problem_of(record.event).empty()) return;
    double const wall_s = static_cast<double>(record.wall_us) * kMicrosecond_s;
    if (auto const* steps = std::get_if<MergedSteps>(&record.event)) {
        take_steps(*steps, wall_s);
    } else if (auto const* chunk = std::get_if<protocol::MetricChunk>(&record.event)) {
        take_steps(protocol::merged_steps_of(*chunk), wall_s);
    } else if (auto const* done = std::get_if<protocol::EvaluationDone>(&record.event)) {
        evaluations_[done->step] = {wall_s, done->loss};
    }
}

void StepSeries::take_steps(MergedSteps const& steps, double wall_s) {
    auto const count = std::min(steps.bucket.size(), steps.ranks.size());
    auto const before = rows_.find(steps.step0 - 1);
    double const earliest_s = before == rows_.end() ? 0 : before->second.wall_s;
    for (std::size_t i = count; i-- > 0;) {
        auto const time = summary_at(steps, "step_time_s", i);
        Row& row = rows_[steps.step0 + static_cast<int>(i)];
        if (row.ranks > 0 && row.attempt > steps.attempt) continue;
        if (row.ranks == 0 || row.attempt < steps.attempt) row = Row{};
        row.attempt = steps.attempt;
        if (row.ranks == 0) row.wall_s = wall_s;  // of the first ranks that reported it
        row.bucket = steps.bucket[i];
        row.ranks = protocol::sum_of_counts(row.ranks, steps.ranks[i]);
        row.samples =
            protocol::sum_of_counts(row.samples, i < steps.samples.size() ? steps.samples[i] : 0);
        for (std::size_t each = 0; each < kStepFigures.size(); ++each) {
            auto const& figure = kStepFigures[each];
            merge(row.figures[each], summary_at(steps, figure.name, i), figure.is_maximum);
        }
        if (time.n > 0 && std::isfinite(time.max) && time.max > 0) wall_s -= time.max;
        wall_s = std::max(wall_s, earliest_s);
    }
}

std::string csv_header() {
    std::string header = "run,name,step,attempt,wall_s,bucket,ranks,samples,samples_per_s";
    for (auto const& figure : kStepFigures) header += fmt::format(",{}", figure.name);
    return header + "\n";
}

std::string csv_rows(StepSeries const& series, int number, std::string_view name) {
    std::string text;
    for (auto const& [step, row] : series.rows()) {
        text += fmt::format("{},{},{},{},{:.6f},{},{},{},{}", number, csv_field(name), step,
                            row.attempt, row.wall_s, csv_field(row.bucket), row.ranks, row.samples,
                            csv_cell(row.samples_per_s()));
        for (auto const& figure : row.figures) text += "," + csv_cell(figure.value);
        text += "\n";
    }
    return text;
}

std::string event_file(StepSeries const& series) {
    auto const& rows = series.rows();
    auto const& evaluations = series.evaluations();
    double const start_s = !rows.empty()          ? rows.begin()->second.wall_s
                           : !evaluations.empty() ? evaluations.begin()->second.wall_s
                                                  : 0;
    std::string file = event_file_start(start_s);
    for (auto const& [step, row] : rows) {
        std::vector<Scalar> scalars;
        for (std::size_t each = 0; each < kStepFigures.size(); ++each) {
            if (row.figures[each].ranks == 0) continue;
            scalars.push_back({kStepFigures[each].tag, row.figures[each].value});
        }
        if (!std::isnan(row.samples_per_s())) {
            scalars.push_back({"samples_per_s", row.samples_per_s()});
        }
        file += scalar_event(step, row.wall_s, scalars);
    }
    for (auto const& [step, evaluation] : evaluations) {
        file += scalar_event(step, evaluation.wall_s, {{"eval/loss", evaluation.loss}});
    }
    return file;
}

}  // namespace osora::cli
