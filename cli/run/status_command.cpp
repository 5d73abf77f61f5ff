// osora status: the runs that are active (or were, and lost their controller) and those that ended
// last, or one run. It needs no daemon: it reads journals, controllers' sockets, history.db and
// Slurm's queue.
#include "base/env.hpp"
#include "base/text/text.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/history_access.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/run/control_client.hpp"
#include "cli/run/follow/follow_text.hpp"
#include "cli/run/follow/live_figures.hpp"
#include "cli/run/follow/node_table.hpp"
#include "cli/run/journal_tail.hpp"
#include "cli/run/run_command.hpp"
#include "cli/run/slurm/job_status.hpp"
#include "cli/run/slurm/slurm_job.hpp"
#include "cli/text/wall_time.hpp"

#include "base/text/units.hpp"
#include "db/analysis/run_state.hpp"
#include "db/store/queries.hpp"
#include "plan/config/submitted_run.hpp"
#include "protocol/notice_kinds.hpp"

#include "slurm/after_sbatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

namespace osora::cli {
namespace {

constexpr std::size_t kLookedAt = 20;  // newest runs that are checked for a lost controller
constexpr int kEndedShown = 5;
constexpr int kNodesShown = 20;

/// A run that is not known to be over.
struct ActiveRun {
    KnownRun known;
    bool here = false;   // its controller listens on this machine
    bool alive = false;  // it has a controller
    JobStatus job;       // in Slurm's queue
};

/// A run that waits in a queue has no journal yet: its size and the time when it was submitted.
void add_submission(KnownRun& run) {
    if (run.view.records > 0) return;
    auto const submitted = plan::read_submission(run.folder.paths);
    if (submitted.has_error()) return;
    fold(run.view, {0, submitted->submitted_us, *submitted});
    run.view.records = 0;
    run.view.began_us = 0;
}

void settle(ActiveRun& run, JobStatusQuery& look) {
    bool const over = is_over(run.known.view);
    if (run.alive || (over && !awaits_next_job(run.known.folder, run.known.view))) return;
    run.job = look.of(run.known.folder);
    if (over) return;  // no controller of its next job has begun
    // A controller on another machine is known only from the journal; the queue is more reliable.
    run.alive = run.job.place == JobPlace::running ||
                (run.job.place == JobPlace::unknown && seems_alive(run.known));
}

/// Whether a job of the run was submitted, and does not run as far as is known.
bool has_waiting_job(ActiveRun const& run) {
    return run.job.place == JobPlace::pending ||
           (run.job.place == JobPlace::unknown && run.job.job.job_id > 0);
}

/// Whether it is over in its journal, and its next job waits or starts.
bool is_between_jobs(ActiveRun const& run) {
    return is_over(run.known.view) && (has_waiting_job(run) || is_at_work(run.job));
}

std::string word_of(ActiveRun const& run) {
    bool const between = is_between_jobs(run);
    bool const begun = run.alive || (run.known.view.records > 0 && !between);
    if (run.job.place == JobPlace::pending || (has_waiting_job(run) && !begun)) return "queued";
    return between ? "submitted" : state_word(run.known.view, run.alive);
}

/// The lines below the table, or below the run's own lines; "" = nothing.
std::string remark(ActiveRun const& run) {
    int const number = run.known.folder.number;
    if (run.job.place == JobPlace::pending) {
        auto const& job = run.job.job;
        return fmt::format("run {} waits as job {}{}{}", number, job.job_id,
                           job.start_time ? ", estimated start " + clock_time(*job.start_time) : "",
                           slurm::reason_text(job, run.job.cluster));
    }
    if (is_at_work(run.job) && !run.here) {
        auto const at = running_job(run.job, number, run.known.view);
        return is_over(run.known.view) ? starting_job_text(at) : silent_job_text(at);
    }
    if (run.alive) return "";
    if (run.job.place == JobPlace::unknown && run.job.job.job_id > 0) {
        return fmt::format(
            "run {}: job {} was submitted, and Slurm does not report its state; osora watch {} "
            "asks again",
            number, run.job.job.job_id, number);
    }
    if (run.job.place == JobPlace::gone) {
        return fmt::format("run {0}: its job {1} is over{2}; osora resume {0} continues", number,
                           run.job.job.job_id,
                           is_final(run.job.job.state) ? ": " + state_text(run.job.job.state) : "");
    }
    return fmt::format("run {0} lost its controller; osora resume {0} continues", number);
}

protocol::json::object to_object(ActiveRun const& run) {
    auto const& view = run.known.view;
    auto const& job = run.job.job;
    auto const live = live_figures(view);
    return {
        {"number", run.known.folder.number},
        {"name", run.known.folder.name},
        {"uuid", view.run_uuid},
        {"run_dir", run.known.folder.paths.dir.string()},
        {"state", word_of(run)},
        {"slurm_job", job.job_id > 0 ? protocol::json::value(job.job_id) : nullptr},
        {"estimated_start_s", job.start_time ? protocol::json::value(*job.start_time) : nullptr},
        {"verdict", protocol::to_json(view.status.verdict)},
        {"exit_code", view.status.exit_code},
        {"cause", view.status.cause},
        {"nodes", view.nodes},
        {"ranks", view.nodes * view.ranks_per_node},
        {"steps_done", view.steps_done},
        {"steps", view.steps},
        {"loss", live.loss},
        {"step_time_s", live.step_time_s},
        {"samples_per_s", live.samples_per_s},
        {"eta_s", live.eta_s},
        {"rss_bytes", null_if_zero(view.rss_bytes)},
        {"restarts", view.status.restarts},
        {"asked_relaunches", view.status.asked_relaunches},
        {"checkpoint_step", view.status.checkpoint_step},
        {"submitted_us", null_if_zero(view.submitted_us)},
        {"ended_us", null_if_zero(view.ended_us)},
        {"controller_host", view.controller_host},
        {"controller_pid", view.controller_pid}};
}

protocol::json::object to_object(db::analysis::RunSummary const& summary) {
    auto const& run = summary.run;
    auto const measured = summary.measured.value_or(db::analysis::Measured{});
    return {{"number", run.number},
            {"name", run.name},
            {"uuid", run.uuid},
            {"run_dir", run.run_dir},
            {"state", db::analysis::ended_word(run.verdict)},
            {"verdict", protocol::to_json(run.verdict)},
            {"exit_code", run.exit_code},
            {"cause", run.cause},
            {"nodes", run.nodes},
            {"ranks", run.ranks},
            {"steps_done", measured.next_step},
            {"steps", run.steps_planned},
            {"loss", protocol::to_json(measured.loss_last)},
            {"step_time_s", protocol::to_json(measured.step_s_median)},
            {"submitted_us", protocol::to_json(run.submitted_us)},
            {"ended_us", protocol::to_json(run.ended_us)}};
}

/// "12 s ago", "5 h ago", "2 d ago"
std::string ago(std::int64_t then_us) {
    double const seconds = static_cast<double>(wall_now_us() - then_us) / 1e6;
    if (then_us <= 0 || seconds < 0) return "-";
    if (seconds < 60) return fmt::format("{:.0f} s ago", seconds);
    if (seconds < 3600) return fmt::format("{:.0f} min ago", seconds / 60);
    if (seconds < 86400) return fmt::format("{:.0f} h ago", seconds / 3600);
    return fmt::format("{:.0f} d ago", seconds / 86400);
}

std::string step_cell(int done, int wanted) {
    if (wanted > 0) return fmt::format("{}/{}", format_count(done), format_count(wanted));
    return done > 0 ? format_count(done) : "-";
}

struct Line {
    int number = 0;
    std::string name, state, step, time, end;
};

void print_lines(std::vector<Line> const& lines) {
    constexpr char const* kFormat = "{:>5}  {:<20.20}  {:<11}  {:>13}  {:>8}  {:>10}\n";
    cli::print(kFormat, "run", "name", "state", "step", "s/step", "end");
    for (Line const& each : lines) {
        cli::print(kFormat, each.number, each.name, each.state, each.step, each.time, each.end);
    }
}

Line row(ActiveRun const& run) {
    auto const& view = run.known.view;
    bool const trained = !view.recent_steps.empty();
    bool const ends = run.alive && view.eta_s > 0;
    return {run.known.folder.number,
            run.known.folder.name,
            word_of(run),
            step_cell(view.steps_done, view.steps),
            trained ? format_seconds(view.step_time_s) : "-",
            ends ? format_seconds(std::ceil(view.eta_s)) : "-"};
}

Line row(db::analysis::RunSummary const& run) {
    auto const measured = run.measured.value_or(db::analysis::Measured{});
    return {run.run.number,
            run.run.name,
            db::analysis::ended_word(run.run.verdict),
            step_cell(measured.next_step, run.run.steps_planned),
            std::isnan(measured.step_s_median) ? "-" : format_seconds(measured.step_s_median),
            ago(run.run.ended_us.value_or(0))};
}

/// The runs that have ended, newest first; if the history cannot be read, says so and lists none.
std::vector<db::analysis::RunSummary> ended_runs(std::filesystem::path const& state, int limit) {
    std::vector<db::analysis::RunSummary> ended;
    auto const history = open_history(state);
    auto runs = history.has_value()
                    ? db::list_runs(*history->store, "", limit)
                    : Result<std::vector<db::analysis::RunSummary>>(history.error());
    if (runs.has_error()) {
        cli::print(stderr, "osora: ended runs are not listed: {}\n", runs.error().message);
        return ended;
    }
    for (auto& each : *runs) {
        bool const over = each.run.ended_us && each.run.verdict != protocol::Verdict::none;
        if (over) ended.push_back(std::move(each));
    }
    return ended;
}

/// Runs with a controller or a job, and those of the newest runs that should have one. Does not
/// read journals of runs that are known to be `over`, unless a job was to continue them.
Result<std::vector<ActiveRun>> active_runs(Context const& context,
                                           std::filesystem::path const& state,
                                           std::set<int> const& over) {
    OSORA_TRY(auto const folders, list_runs(state));
    JobStatusQuery look(context, state);
    std::vector<ActiveRun> active;
    for (std::size_t i = 0; i < folders.size(); ++i) {
        auto const& paths = folders[i].paths;
        bool const here = has_controller(paths);
        if (!here && i >= kLookedAt) continue;
        if (!here && over.contains(folders[i].number) && !awaits_controller(paths)) continue;
        auto view = read_view(paths.journal());
        if (view.has_error()) continue;
        ActiveRun run{{folders[i], std::move(*view)}, here, here, {}};
        settle(run, look);
        if (!here && is_over(run.known.view) && !is_between_jobs(run)) continue;
        bool const begun = run.alive || run.known.view.records > 0;
        add_submission(run.known);
        if (begun || has_waiting_job(run)) active.push_back(std::move(run));
    }
    return active;
}

bool is_among(std::vector<ActiveRun> const& runs, int number) {
    return std::ranges::any_of(
        runs, [number](ActiveRun const& each) { return each.known.folder.number == number; });
}

/// What only `osora status RUN` shows.
protocol::json::object to_detailed_object(ActiveRun const& run) {
    auto object = to_object(run);
    protocol::RunView const& view = run.known.view;
    object["rank_cpus"] = protocol::to_json(view.rank_cpus);
    protocol::json::array health;
    for (auto const& each : view.node_health) {
        if (each) health.push_back(protocol::to_json(*each));
    }
    object["node_health"] = std::move(health);
    return object;
}

int all(Context const& context, bool json, int limit) {
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error());
    auto ended = ended_runs(*state, std::max(limit, static_cast<int>(kLookedAt)));
    std::set<int> over;
    for (auto const& each : ended) over.insert(each.run.number);
    auto const active = active_runs(context, *state, over);
    if (active.has_error()) return fail(kExitBad, active.error());
    std::erase_if(ended, [&](auto const& each) { return is_among(*active, each.run.number); });
    if (ended.size() > static_cast<std::size_t>(limit))
        ended.resize(static_cast<std::size_t>(limit));
    if (json) {
        protocol::json::array list;
        for (auto const& run : *active) list.push_back(to_object(run));
        for (auto const& run : ended) list.push_back(to_object(run));
        print_json("status", {{"runs", list}});
        return kExitOk;
    }
    std::vector<Line> lines;
    for (auto const& run : *active) lines.push_back(row(run));
    for (auto const& run : ended) lines.push_back(row(run));
    if (active->empty()) cli::print("no run is active; osora history lists all\n");
    if (!lines.empty()) print_lines(lines);
    for (auto const& run : *active) {
        if (auto const line = remark(run); !line.empty()) cli::print("{}\n", line);
    }
    return kExitOk;
}

void print_failed_notifications(protocol::RunView const& view) {
    for (auto const& each : view.notices) {
        if (each.kind == protocol::kNotificationFailed) cli::print("{}\n", printable(each.detail));
    }
}

void print_one(ActiveRun const& active, int columns) {
    auto const& run = active.known;
    auto const& view = run.view;
    int const ranks = view.nodes * view.ranks_per_node;
    cli::print("run {} · {} · {} on {}\n", run.folder.name, word_of(active), counted(ranks, "rank"),
               counted(view.nodes, "node"));
    cli::print("{}\n", run.folder.paths.dir.string());
    if (view.records == 0) {
        cli::print("{}\n", remark(active));
        return;
    }
    Expected const expected = expected_of(run.folder);
    if (is_over(view)) {
        cli::print("{}", summary(view, expected));
        print_failed_notifications(view);
        if (is_between_jobs(active)) cli::print("{}\n", remark(active));
        return;
    }
    for (std::string const& line : progress_lines(view, expected, wall_now_us(), columns)) {
        cli::print("{}\n", line);
    }
    for (std::string const& line : node_lines(view, {columns, kNodesShown})) {
        cli::print("{}\n", line);
    }
    if (auto const slow = arrival_line(view); !slow.empty()) cli::print("{}\n", slow);
    if (view.status.restarts > 0) {
        cli::print("relaunched {} of {} times; last: {}\n", view.status.restarts,
                   view.status.restarts_max, printable(view.status.cause));
    }
    if (int const asked = view.status.asked_relaunches; asked > 0) {
        cli::print("relaunched {} as asked{}\n",
                   asked == 1 ? "once" : fmt::format("{} times", asked),
                   view.status.restarts > 0 ? "" : "; last: " + printable(view.status.cause));
    }
    print_failed_notifications(view);
    if (auto const line = remark(active); !line.empty()) cli::print("{}\n", line);
}

int run_status(Context const& context, Arguments const& arguments) {
    bool const json = arguments.has("--json");
    if (!arguments.has("RUN")) {
        auto const limit = arguments.number("--ended", 0, 1'000'000);
        if (limit.has_error()) return fail(kExitUsage, limit.error());
        return all(context, json, limit->value_or(kEndedShown));
    }
    if (arguments.has("--ended")) {
        return fail(kExitUsage, "--ended is for the list of runs; leave out RUN, or --ended");
    }
    auto known = run_of(context, arguments, Imported::taken);
    if (known.has_error()) return fail(known.error());
    JobStatusQuery look(context, known->folder.paths.state().dir);
    bool const here = has_controller(known->folder.paths);
    ActiveRun one{std::move(*known), here, here, {}};
    settle(one, look);
    add_submission(one.known);
    if (json) {
        print_json("status", {{"runs", protocol::json::array{to_detailed_object(one)}}});
    } else {
        print_one(one, context.terminal.columns);
    }
    return kExitOk;
}

}  // namespace

CommandSpec status_command() {
    return {.name = "status",
            .summary = "runs that are active, or one run",
            .details =
                "Without RUN: a table of the runs that are active or lost their controller, and of "
                "those that ended last. With RUN: its state, progress, nodes, restarts and what "
                "to do next.",
            .example = "osora status\nosora status 42 --json",
            .positionals = {run_positional(false)},
            .options = {{.name = "--ended",
                         .value = "N",
                         .help = "Without RUN: how many ended runs are listed (5)."},
                        json_option()},
            .run = run_status};
}

}  // namespace osora::cli
