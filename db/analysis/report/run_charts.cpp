// Steps of abandoned attempts are not drawn: their successors repeated them.
#include "db/analysis/report/run_charts.hpp"

#include "db/analysis/keep_extremes.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace osora::db::analysis {
namespace {

using Rows = std::vector<std::size_t>;

Rows rows_of_bucket(StepTable const& steps, Rows const& kept, std::size_t bucket) {
    Rows rows;
    for (auto const i : kept) {
        if (steps.bucket[i] == static_cast<int>(bucket)) rows.push_back(i);
    }
    return rows;
}

/// The share of a chart's points for a line with `rows` of `all` steps.
std::size_t share_of_points(std::size_t rows, std::size_t all) {
    constexpr std::size_t kLeast = 100;
    return std::max(kLeast, kPointsDrawn * rows / std::max<std::size_t>(1, all));
}

std::vector<int> steps_at(StepTable const& steps, Rows const& rows) {
    std::vector<int> numbers;
    numbers.reserve(rows.size());
    for (auto const i : rows) numbers.push_back(steps.step[i]);
    return numbers;
}

std::vector<StepLine> step_time_lines(RunHistory const& history, RunReport const& report,
                                      Rows const& kept) {
    std::vector<StepLine> lines;
    auto const& steps = history.steps;
    auto const* time = steps.column("step_time_s");
    if (time == nullptr) return lines;
    for (std::size_t bucket = 0; bucket < steps.buckets.size(); ++bucket) {
        auto const rows = rows_of_bucket(steps, kept, bucket);
        if (rows.empty()) continue;
        std::array<std::vector<double> const*, 3> const columns{&time->mean, &time->min,
                                                                &time->max};
        auto const drawn = keep_extremes(columns, rows, share_of_points(rows.size(), kept.size()));
        StepLine line;
        line.name = steps.buckets[bucket];
        line.step = steps_at(steps, drawn);
        line.mean = pick(time->mean, drawn);
        line.min = pick(time->min, drawn);
        line.max = pick(time->max, drawn);
        line.steps = rows.size();
        for (auto const& row : report.buckets) {
            if (row.measured.bucket != line.name) continue;
            line.median = row.step_s.measured;
            line.expected = row.step_s.predicted;
        }
        lines.push_back(std::move(line));
    }
    return lines;
}

/// Spans of the warm-up; steps of another bucket between two cold ones count as cold too.
std::vector<StepSpan> warmup_spans(StepTable const& steps, StepSelection const& selection) {
    std::vector<StepSpan> spans;
    int attempt = -1;
    for (auto const i : selection.cold) {
        if (steps.attempt[i] != attempt) spans.push_back({steps.step[i], steps.step[i]});
        attempt = steps.attempt[i];
        spans.back().last = steps.step[i];
    }
    return spans;
}

std::vector<StepMark> marks_of(RunHistory const& history, RunReport const& report) {
    using namespace protocol;
    std::vector<StepMark> marks;
    for (auto const& each : report.relaunches) {
        marks.push_back({each.start_step, MarkKind::relaunch,
                         each.cause.empty() ? "a new controller continued" : each.cause});
    }
    for (auto const& event : history.events) {
        if (event.kind == CheckpointCompleted::kType) {
            auto const read = decode<CheckpointCompleted>(event.body);
            if (read.has_error()) continue;
            marks.push_back({read->step, MarkKind::checkpoint,
                             fmt::format("checkpoint for step {}", read->step)});
        } else if (event.kind == RunNotice::kType) {
            auto const read = decode<RunNotice>(event.body);
            if (read.has_error()) continue;
            marks.push_back({read->step, MarkKind::notice, read->kind + ": " + read->detail});
        }
    }
    std::ranges::stable_sort(marks, {}, &StepMark::kind);  // the most important marks are kept
    return marks;
}

/// Groups of neighbouring steps that have a time for all `parts`.
PhaseStack phase_stack(StepTable const& steps, Rows const& kept, int ranks) {
    struct Part {
        char const* name;
        char const* column;
    };
    constexpr std::array<Part, 6> kParts{{{"data wait", "data_wait_s"},
                                          {"forward", "forward_s"},
                                          {"backward", "backward_s"},
                                          {"optimizer", "optimizer_s"},
                                          {"exposed comm", "exposed_comm_s"},
                                          {"other", "other_s"}}};
    PhaseStack stack;
    std::size_t const per_group =
        std::max<std::size_t>(1, (kept.size() + kPhaseGroups - 1) / kPhaseGroups);
    stack.steps_per_group = static_cast<int>(per_group);
    for (std::size_t i = 0; i < kept.size(); i += per_group) {
        stack.step.push_back(steps.step[kept[i]]);
    }
    auto const add = [&](std::string name, auto value_at) {
        std::vector<double> means;
        for (std::size_t i = 0; i < kept.size(); i += per_group) {
            double sum = 0;
            int count = 0;
            for (std::size_t j = i; j < std::min(kept.size(), i + per_group); ++j) {
                double const value = value_at(kept[j]);
                if (std::isnan(value)) continue;
                sum += value;
                ++count;
            }
            means.push_back(count == 0 ? kUnknown : sum / count);
        }
        if (std::ranges::all_of(means, [](double value) { return std::isnan(value); })) return;
        stack.names.push_back(std::move(name));
        stack.mean_s.push_back(std::move(means));
    };
    for (auto const& part : kParts) {
        auto const* column = steps.column(part.column);
        if (column == nullptr) continue;
        bool const comm = std::string_view(part.column) == "exposed_comm_s";
        if (!comm) add(part.name, [&](std::size_t i) { return column->mean[i]; });
        if (!comm || ranks < 2) continue;
        add(part.name, [&](std::size_t i) { return column->min[i]; });
        add("wait for ranks", [&](std::size_t i) { return column->mean[i] - column->min[i]; });
    }
    return stack;
}

std::optional<StepLine> highest_line(StepTable const& steps, Rows const& rows, char const* name,
                                     std::string title) {
    auto const* column = steps.column(name);
    if (column == nullptr || rows.empty()) return std::nullopt;
    bool const is_known = std::ranges::any_of(rows, [&](auto i) { return column->max[i] > 0; });
    if (!is_known) return std::nullopt;
    std::array<std::vector<double> const*, 1> const columns{&column->max};
    auto const drawn = keep_extremes(columns, rows, kPointsDrawn / 8);
    StepLine line;
    line.name = std::move(title);
    line.step = steps_at(steps, drawn);
    line.max = pick(column->max, drawn);
    line.steps = rows.size();
    return line;
}

std::vector<StepLine> memory_lines(StepTable const& steps, Rows const& kept) {
    std::vector<StepLine> lines;
    if (auto host = highest_line(steps, kept, "rss_bytes", "host memory")) {
        lines.push_back(std::move(*host));
    }
    for (std::size_t bucket = 0; bucket < steps.buckets.size(); ++bucket) {
        auto const& name = steps.buckets[bucket];
        auto line = highest_line(steps, rows_of_bucket(steps, kept, bucket), "peak_allocated_bytes",
                                 name.empty() ? "tensors" : "tensors, " + name);
        if (line) lines.push_back(std::move(*line));
    }
    return lines;
}

StepLine loss_line(StepTable const& steps, Rows const& kept) {
    StepLine line;
    line.name = "loss";
    auto const* column = steps.column("loss");
    if (column == nullptr) return line;
    bool const is_known =
        std::ranges::any_of(kept, [&](auto i) { return !std::isnan(column->mean[i]); });
    if (!is_known) return line;
    std::array<std::vector<double> const*, 1> const columns{&column->mean};
    auto const drawn = keep_extremes(columns, kept, kPointsDrawn / 4);
    line.step = steps_at(steps, drawn);
    line.mean = pick(column->mean, drawn);
    line.steps = kept.size();
    return line;
}

}  // namespace

RunCharts run_charts(RunHistory const& history, RunReport const& report) {
    RunCharts charts;
    auto const& steps = history.steps;
    auto const selection = select_steps(steps);
    charts.step_time = step_time_lines(history, report, selection.kept);
    if (report.run.plan && report.run.plan->predicted.step_time_error > 0) {
        charts.expected_error = report.run.plan->predicted.step_time_error;
    }
    charts.warmup = warmup_spans(steps, selection);
    charts.marks = marks_of(history, report);
    if (charts.marks.size() > kMarksDrawn) {
        charts.marks_left_out = charts.marks.size() - kMarksDrawn;
        charts.marks.resize(kMarksDrawn);
    }
    std::ranges::stable_sort(charts.marks, {}, &StepMark::step);
    charts.phases = phase_stack(steps, selection.kept, report.run.run.ranks);
    charts.memory = memory_lines(steps, selection.kept);
    charts.loss = loss_line(steps, selection.kept);
    return charts;
}

}  // namespace osora::db::analysis
