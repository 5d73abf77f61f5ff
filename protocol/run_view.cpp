// The fold for readers. Journals may be damaged or written by a neighbouring version, so nothing in
// a chunk is trusted: columns may be missing or short.
#include "protocol/run_view.hpp"

#include "protocol/journal/event_limits.hpp"
#include "protocol/steps/step_figures.hpp"
#include "protocol/verdicts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace osora::protocol {
namespace {

constexpr int kRanksBound = 4096;  // ranks whose CPUs are kept: views are copied
constexpr int kClipsAStepMax = 1'000'000'000;
constexpr double kSmoothing = 0.1;  // weight of a new step in smooth_loss

template <class T>
void keep(std::deque<T>& kept, T const& value) {
    kept.push_back(value);
    if (kept.size() > kKept) kept.pop_front();
}

FigureSummary figure(MergedSteps const& steps, std::string const& name, std::size_t i) {
    auto const found = steps.columns.find(name);
    FigureSummary summary;
    if (found != steps.columns.end()) summary = summary_of(steps, name, found->second, i);
    double const none = std::nan("");
    return summary.n > 0 ? summary : FigureSummary{0, none, none, none, -1};
}

std::int64_t bytes_of(double value) {
    return value > 0 && value < 9e18 ? static_cast<std::int64_t>(value) : 0;
}

/// Mean over the ranks of two nodes from the means of each.
void merge_mean(double& mean, int ranks, double other, int other_ranks) {
    double const all = static_cast<double>(ranks) + other_ranks;
    mean = (mean * ranks + other * other_ranks) / all;
}

StepView step_of(MergedSteps const& steps, std::size_t i) {
    StepView step;
    step.step = steps.step0 + static_cast<int>(i);
    step.ranks = steps.ranks[i];
    step.samples = i < steps.samples.size() ? steps.samples[i] : 0;
    step.step_time_s = figure(steps, "step_time_s", i).max;
    step.loss = figure(steps, "loss", i).mean;
    step.grad_norm = figure(steps, "grad_norm", i).mean;
    step.lr = figure(steps, "lr", i).mean;
    step.data_wait_s = figure(steps, "data_wait_s", i).mean;
    auto const comm = figure(steps, "exposed_comm_s", i);
    step.exposed_comm_s = comm.mean;
    step.least_comm_s = comm.min;
    step.arrivals = arrivals_of(steps, i);
    step.bucket = steps.bucket[i];
    return step;
}

void merge(StepView& into, StepView const& other) {
    into.step_time_s = std::fmax(into.step_time_s, other.step_time_s);
    merge_mean(into.loss, into.ranks, other.loss, other.ranks);
    merge_mean(into.grad_norm, into.ranks, other.grad_norm, other.ranks);
    merge_mean(into.data_wait_s, into.ranks, other.data_wait_s, other.ranks);
    merge_mean(into.exposed_comm_s, into.ranks, other.exposed_comm_s, other.ranks);
    into.least_comm_s = std::fmin(into.least_comm_s, other.least_comm_s);
    merge(into.arrivals, other.arrivals);
    into.samples = sum_of_counts(into.samples, other.samples);
    into.ranks = sum_of_counts(into.ranks, other.ranks);
}

double median_step_time(std::deque<StepView> const& steps) {
    std::vector<double> times;
    for (StepView const& step : steps) {
        if (std::isfinite(step.step_time_s)) times.push_back(step.step_time_s);
    }
    if (times.empty()) return 0;
    auto const middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    if (times.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(times.begin(), middle)) / 2;
}

/// Rates over the recent steps that every rank has reported (the newest may lack a node).
void update_rates(RunView& view) {
    double time = 0, wait = std::nan(""), comm = wait, least = wait, samples = 0;
    int steps = 0;
    auto const add = [](double& sum, double value) {
        if (std::isfinite(value)) sum = std::isnan(sum) ? value : sum + value;
    };
    for (StepView const& step : view.recent_steps) {
        if (!std::isfinite(step.step_time_s) || step.step_time_s <= 0) continue;
        ++steps;
        time += step.step_time_s;
        samples += step.samples;
        add(wait, step.data_wait_s);
        add(comm, step.exposed_comm_s);
        add(least, step.least_comm_s);
    }
    if (steps == 0) return;
    view.step_time_s = median_step_time(view.recent_steps);
    view.samples_per_s = samples / time;
    view.data_wait_share = wait / time;
    view.exposed_comm_share = comm / time;
    view.rank_wait_share = (comm - least) / time;
    int const left = view.steps - view.steps_done;
    view.eta_s = left > 0 ? left * time / steps : 0;
    auto const clips_left = static_cast<double>(view.clips - view.clips_done);
    if (view.status.scoring && clips_left > 0 && samples > 0)
        view.eta_s = clips_left / view.samples_per_s;
}

void add_step(RunView& view, StepView const& step) {
    auto& steps = view.recent_steps;
    auto const same = std::ranges::find(steps, step.step, &StepView::step);
    if (same != steps.end()) {
        merge(*same, step);
        if (same->step == view.steps_done - 1) view.last_loss = same->loss;
        return;
    }
    if (!steps.empty() && step.step < steps.back().step) return;  // late, from a slow node
    steps.push_back(step);
    if (steps.size() > kRecentSteps) steps.pop_front();
    view.last_loss = step.loss;
    view.steps_done = step.step + 1;
    view.grad_norm = step.grad_norm;
    view.lr = step.lr;
    view.bucket = step.bucket;
}

/// Folds the steps that every rank has reported into smooth_loss.
void smooth(RunView& view) {
    int const ranks = view.nodes * view.ranks_per_node;
    for (StepView const& step : view.recent_steps) {
        if (step.step < view.smoothed_steps || step.ranks < ranks) continue;
        view.smoothed_steps = step.step + 1;
        if (!std::isfinite(step.loss)) continue;
        bool const first = view.smooth_loss == 0;
        view.smooth_loss += (first ? 1.0 : kSmoothing) * (step.loss - view.smooth_loss);
    }
}

void on(RunView& view, RunSubmitted const& event, std::int64_t wall_us) {
    if (view.began_us != 0) return;
    view.run_uuid = event.run_uuid;
    view.run_name = event.run_name;
    view.job = event.job;
    view.user = event.user;
    view.host = event.host;
    view.number = event.number;
    view.nodes = event.nodes;
    view.ranks_per_node = event.ranks_per_node;
    view.steps = event.steps;
    view.clips = event.clips;
    view.attached = event.attached;
    // Journals of older versions have only the controller's start, after the queue.
    view.submitted_us = event.submitted_us > 0 ? event.submitted_us : wall_us;
    view.began_us = wall_us;
}

void on(RunView& view, ControllerStarted const& event, std::int64_t) {
    view.controller_host = event.host;
    view.controller_boot_id = event.boot_id;
    view.controller_pid = event.pid;
    if (view.status.state != RunState::done) view.ended_us = 0;  // it may have been reopened
}

void on(RunView& view, LaunchOrdered const& event, std::int64_t) {
    if (event.attempt != view.status.attempt) return;
    view.node_views.assign(view.status.nodes.size(), {});
    view.rank_cpus.clear();
    view.straggler.reset();
    view.recent_steps.clear();
    view.smoothed_steps = 0;
    // The steps of the attempt before say nothing about this one.
    view.step_time_s = view.samples_per_s = view.eta_s = 0;
    view.data_wait_share = view.exposed_comm_share = view.rank_wait_share = 0;
    view.rss_bytes = 0;
}

void on(RunView& view, RankStarted const& event, std::int64_t) {
    if (event.attempt != view.status.attempt) return;
    view.start_step = event.start_step;
    if (!event.cpus.empty() && event.rank >= 0 && event.rank < kRanksBound) {
        auto const rank = static_cast<std::size_t>(event.rank);
        if (view.rank_cpus.size() <= rank) view.rank_cpus.resize(rank + 1);
        view.rank_cpus[rank] = event.cpus;
    }
    if (view.recent_steps.empty()) view.steps_done = event.start_step;
}

void on(RunView& view, CheckpointCompleted const& event, std::int64_t wall_us) {
    if (event.attempt != view.status.attempt) return;
    view.checkpoint_us = wall_us;
    view.checkpoint_s = event.seconds;
    view.checkpoint_bytes = event.bytes;
}

void on(RunView& view, RunEnded const&, std::int64_t wall_us) {
    view.ended_us = wall_us;
}

void note_failure(RunView& view, RankEnd const& end) {
    auto const [known, fresh] = view.first_failures.try_emplace(end.attempt, end);
    if (!fresh && known->second.secondary && !end.secondary) known->second = end;
}

void on(RunView& view, RankFailed const& event, std::int64_t) {
    bool const exec = view.status.exec;
    auto const failure_class = classify_failure(event, exec);
    RankEnd const end{event.attempt,
                      event.node,
                      event.rank,
                      event.exit_code,
                      event.signal,
                      event.oom_killed,
                      event.message,
                      describe(event, exec),
                      event.tail,
                      failure_class.secondary,
                      failure_class.blames_host};
    keep(view.rank_ends, end);
    note_failure(view, end);
}

void on(RunView& view, RunNotice const& event, std::int64_t) {
    keep(view.notices, event);
    ++view.notice_counts[event.kind];
}

void on(RunView& view, HangDetected const& event, std::int64_t) {
    keep(view.hangs, event);
    RankEnd end;
    end.attempt = event.attempt;
    end.node = event.node;
    end.rank = event.rank;
    end.cause = describe(event);
    note_failure(view, end);
}
void on(RunView& view, NodeLost const& event, std::int64_t) {
    keep(view.nodes_lost, event);
}

void update_straggler(RunView& view) {
    std::vector<ArrivalRow> rows;
    int const ranks = view.nodes * view.ranks_per_node;
    for (StepView const& step : view.recent_steps) {
        if (step.ranks == ranks) rows.push_back({step.arrivals, step.ranks, step.step_time_s});
    }
    view.straggler = find_straggler(rows);
}

/// Numbers that no controller writes.
bool is_sane(RunView const& view, MergedSteps const& steps) {
    constexpr int kStepsMax = 1'000'000'000;
    int const nodes = static_cast<int>(view.status.nodes.size());
    bool const known_nodes = steps.first_node >= 0 && steps.first_node < nodes &&
                             std::ssize(steps.next_steps) <= nodes - steps.first_node;
    bool const known_ranks = std::ranges::all_of(steps.ranks, [&](int ranks) {
        return ranks >= 1 && ranks <= nodes * view.status.ranks_per_node;
    });
    return known_nodes && known_ranks && steps.attempt == view.status.attempt && steps.step0 >= 0 &&
           steps.step0 < kStepsMax && !steps.bucket.empty() &&
           steps.ranks.size() == steps.bucket.size();
}

void take_node(RunView& view, NodeReport const& report) {
    NodeView& node = view.node_views[static_cast<std::size_t>(report.node)];
    node.steps_done = std::max(node.steps_done, report.next_step);
    node.step_time_s = report.step_time_s;
    node.arrival_s = report.arrival_s;
    node.exposed_comm_s = report.exposed_comm_s;
    bool const is_known = report.latest_local_rank >= 0;
    int const first_rank = report.node * view.status.ranks_per_node;
    node.latest_rank = is_known ? first_rank + report.latest_local_rank : -1;
    node.rss_bytes = bytes_of(report.rss_bytes);
    node.peak_allocated_bytes = bytes_of(report.peak_allocated_bytes);
}

void take_steps(RunView& view, MergedSteps const& steps, std::vector<NodeReport> const& nodes,
                std::int64_t wall_us) {
    if (!is_sane(view, steps)) return;
    if (view.first_step_us == 0) view.first_step_us = wall_us;
    view.node_views.resize(view.status.nodes.size());
    for (NodeReport const& each : nodes) take_node(view, each);
    bool const trains = !view.status.rehearsal && !view.status.encoding && !view.status.scoring;
    bool const gives_loss = trains && steps.columns.contains("loss");
    view.has_loss = view.has_loss || gives_loss;
    for (std::size_t i = 0; i < steps.bucket.size(); ++i) {
        auto const step = step_of(steps, i);
        if (view.status.scoring) view.clips_done += std::clamp(step.samples, 0, kClipsAStepMax);
        add_step(view, step);
        smooth(view);
        view.peak_rss_bytes =
            std::max(view.peak_rss_bytes, bytes_of(figure(steps, "rss_bytes", i).max));
        view.peak_allocated_bytes = std::max(
            view.peak_allocated_bytes, bytes_of(figure(steps, "peak_allocated_bytes", i).max));
    }
    if (view.clips > 0) view.clips_done = std::min(view.clips_done, view.clips);
    bool const whole = steps.ranks.back() == view.nodes * view.ranks_per_node;
    auto const largest = std::ranges::max_element(view.node_views, {}, &NodeView::rss_bytes);
    view.rss_bytes = whole ? bytes_of(figure(steps, "rss_bytes", steps.ranks.size() - 1).max)
                           : largest->rss_bytes;
    update_rates(view);
    update_straggler(view);
}

void on(RunView& view, MergedSteps const& steps, std::int64_t wall_us) {
    auto const nodes = nodes_of(steps);
    if (nodes.has_value()) take_steps(view, steps, *nodes, wall_us);
}

void on(RunView& view, MetricChunk const& chunk, std::int64_t wall_us) {
    bool const of_one_node = chunk.ranks <= view.status.ranks_per_node;
    auto const report = node_report_of(chunk, view.status.ranks_per_node);
    if (of_one_node) take_steps(view, merged_steps_of(chunk), {report}, wall_us);
}

void on(RunView& view, NodeHealth const& event, std::int64_t) {
    if (event.node < 0 || event.node >= static_cast<int>(view.status.nodes.size())) return;
    view.node_health.resize(view.status.nodes.size());
    view.node_health[static_cast<std::size_t>(event.node)] =
        std::make_shared<NodeHealth const>(event);
}

template <class T>
void on(RunView&, T const&, std::int64_t) {}  // no effect beyond the status

}  // namespace

void fold(RunView& view, JournalRecord const& record) {
    if (auto const problem = problem_of(record.event); !problem.empty()) {
        JournalRecord const rest{record.sequence, record.wall_us, limited(record.event)};
        fold(view, rest);
        RunNotice notice;
        notice.kind = "journal";
        notice.severity = "warning";
        notice.detail = problem;
        on(view, notice, record.wall_us);
        return;
    }
    fold(view.status, record.event);
    std::visit([&](auto const& event) { on(view, event, record.wall_us); }, record.event);
    view.last_record_us = record.wall_us;
    ++view.records;
}

}  // namespace osora::protocol
