#include "cli/dashboard/history_view.hpp"

#include "base/text/text.hpp"
#include "cli/detect/detect_history.hpp"
#include "cli/report/diff_sides.hpp"
#include "cli/report/report_figures.hpp"
#include "db/store/queries.hpp"

#include <set>

namespace osora::cli {
namespace {

/// Another program may hold history.db; readers wait for it less long than commands do, because all
/// of them wait.
constexpr std::chrono::milliseconds kBusyWait{1000};

struct StatedRun {
    db::RunRecord run;
    db::analysis::RunState state;
};

/// Only a run without an end is looked up on the disk.
StatedRun stated(db::RunRecord run) {
    auto const liveness = run.ended_us ? db::analysis::LivenessFacts{} : liveness_of(run);
    auto state = db::analysis::state_of(run, liveness);
    return {std::move(run), std::move(state)};
}

std::string progress_word(db::analysis::RunState const& state) {
    return state.over ? "ended" : state.word;
}

bool matches(StatedRun const& each, RunFilter const& filter) {
    bool const named = lower(each.run.name).find(lower(filter.name)) != std::string::npos;
    bool const of_series = filter.series.empty() || each.run.series == filter.series;
    bool const in_state = filter.state.empty() || filter.state == each.state.word ||
                          filter.state == progress_word(each.state);
    return named && of_series && in_state;
}

RunRow table_row(db::analysis::RunSummary const& summary, db::analysis::RunState const& state) {
    auto const& run = summary.run;
    auto const measured = summary.measured.value_or(db::analysis::Measured{});
    return {.id = db::is_imported(run) || run.number <= 0 ? run.uuid : std::to_string(run.number),
            .name = run.name,
            .series = run.series,
            .state = progress_word(state),
            .verdict = state.over ? state.word : "",
            .over = state.over,
            .good = state.good,
            .steps_done = measured.next_step,
            .steps_planned = run.steps_planned,
            .step_time_s = measured.step_s_median,
            .samples_per_s = measured.samples_per_s,
            .nodes = run.nodes,
            .started_us = run.first_step_us ? run.first_step_us : db::began_us(run),
            .ended_us = run.ended_us};
}

std::vector<std::string> listed(std::set<std::string> const& names) {
    return {names.begin(), names.end()};
}

}  // namespace

Result<RunList> HistoryView::runs(RunFilter const& filter) {
    OSORA_TRY(auto const* const history, history_(false));
    OSORA_TRY(auto all, db::all_runs(*history->store));
    RunList list;
    std::set<std::string> states, series;
    std::vector<StatedRun> found;
    for (auto& each : all) {
        auto run = stated(std::move(each));
        states.insert({progress_word(run.state), run.state.word});
        series.insert(run.run.series);
        if (!run.state.over) ++list.in_progress;
        if (matches(run, filter)) found.push_back(std::move(run));
    }
    list.total = static_cast<int>(found.size());
    list.states = listed(states);
    list.series = listed(series);
    list.warnings = history->warnings;
    auto const first = static_cast<std::size_t>(filter.page - 1) * kRunsPerPage;
    auto const end = std::min(found.size(), first + kRunsPerPage);
    for (auto i = first; i < end; ++i) {
        OSORA_TRY(auto const summary, db::summary_of(*history->store, std::move(found[i].run)));
        list.rows.push_back(table_row(summary, found[i].state));
    }
    return list;
}

Result<RunPage> HistoryView::run(std::string const& id) {
    OSORA_TRY(auto const* history, history_(false));
    auto known = db::find_run(*history->store, id);
    if (known.has_error() && known.error().code == Errc::not_found) {
        OSORA_TRY(history, history_(true));
        known = db::find_run(*history->store, id);
    }
    OSORA_TRY(auto const found, std::move(known));
    OSORA_TRY(auto const run, db::load_run(*history->store, found.run_id));
    auto const report = db::analysis::run_report(run, liveness_of(found));
    return RunPage{.report = page_of(report, run_figures(report, run)),
                   .row = table_row(run.summary, report.state)};
}

Result<ReportPage> HistoryView::series(std::string const& name) {
    OSORA_TRY(auto const* const history, history_(false));
    OSORA_TRY(auto const runs, db::load_series(*history->store, name));
    auto report = db::analysis::series_report(name, runs);
    for (auto& trend : report.trends) {
        OSORA_TRY_VOID(use_repeat(*history->store, name, runs, {}, trend));
    }
    auto const charts = db::analysis::series_charts(report);
    return page_of(report, series_figures(report, charts));
}

Result<ReportPage> HistoryView::diff(std::string const& a, std::string const& b) {
    OSORA_TRY(auto const* history, history_(false));
    auto known = diff_sides(*history->store, a, b);
    if (known.has_error() && known.error().code == Errc::not_found) {
        OSORA_TRY(history, history_(true));
        known = diff_sides(*history->store, a, b);
    }
    OSORA_TRY(auto const sides, std::move(known));
    return diff_page(sides, a, b);
}

Result<OpenHistory const*> FreshHistory::get(bool newest) {
    auto const now = std::chrono::steady_clock::now();
    if (newest || !open_ || now - opened_ >= kEvery) {
        open_.reset();
        OSORA_TRY(open_, open_history(state_, {.busy_wait = kBusyWait}));
        opened_ = std::chrono::steady_clock::now();
    }
    return &*open_;
}

}  // namespace osora::cli
