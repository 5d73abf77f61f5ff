// osora status: all runs that are active (or were, and lost their controller), or one run.
#include "cli/commands.hpp"
#include "cli/control_client.hpp"
#include "cli/exit_code.hpp"
#include "cli/follow_text.hpp"
#include "cli/journal_tail.hpp"
#include "cli/json_output.hpp"
#include "cli/run_command.hpp"
#include "cli/run_file_command.hpp"

#include "base/units.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

namespace osora::cli {
namespace {

constexpr std::size_t kLookedAt = 20;  // newest runs that are read to find lost ones

std::int64_t wall_now_us() {
    auto const now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

protocol::json::object to_object(KnownRun const& run, bool alive) {
    auto const& view = run.view;
    return {{"number", run.folder.number},
            {"name", run.folder.name},
            {"uuid", view.run_uuid},
            {"run_dir", run.folder.paths.dir.string()},
            {"state", state_word(view, alive)},
            {"verdict", protocol::to_json(view.status.verdict)},
            {"exit_code", view.status.exit_code},
            {"cause", view.status.cause},
            {"nodes", view.nodes},
            {"ranks", view.nodes * view.ranks_per_node},
            {"steps_done", view.steps_done},
            {"steps", view.steps},
            {"loss", protocol::to_json(view.last_loss)},
            {"step_time_s", view.step_time_s},
            {"samples_per_s", view.samples_per_s},
            {"eta_s", view.eta_s},
            {"rss_bytes", view.rss_bytes},
            {"restarts", view.status.restarts},
            {"checkpoint_step", view.status.checkpoint_step},
            {"submitted_us", view.submitted_us},
            {"ended_us", view.ended_us},
            {"controller_host", view.controller_host},
            {"controller_pid", view.controller_pid}};
}

std::string row(KnownRun const& run, bool alive) {
    auto const& view = run.view;
    bool const trained = !view.recent_steps.empty();
    std::string const step = view.steps > 0 ? fmt::format("{}/{}", format_count(view.steps_done),
                                                          format_count(view.steps))
                                            : "-";
    return fmt::format("{:>5}  {:<20.20}  {:<11}  {:>13}  {:>8}  {:>9}\n", run.folder.number,
                       run.folder.name, state_word(view, alive), step,
                       trained ? format_seconds(view.step_time_s) : "-",
                       alive && view.eta_s > 0 ? format_seconds(std::ceil(view.eta_s)) : "-");
}

/// Those with a controller, and of the newest ones those that should have one.
Result<std::vector<std::pair<KnownRun, bool>>> active_runs(std::filesystem::path const& state) {
    OSORA_TRY(auto const folders, list_runs(state));
    std::vector<std::pair<KnownRun, bool>> active;
    for (std::size_t i = 0; i < folders.size(); ++i) {
        bool const alive = has_controller(folders[i].paths);
        if (!alive && i >= kLookedAt) continue;
        auto view = read_view(folders[i].paths.journal());
        if (view.has_error() || (!alive && (is_over(*view) || view->records == 0))) continue;
        active.emplace_back(KnownRun{folders[i], std::move(*view)}, alive);
    }
    return active;
}

int all(Context const& context, bool json) {
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error().message);
    auto const active = active_runs(*state);
    if (active.has_error()) return fail(kExitBad, active.error().message);
    if (json) {
        protocol::json::array list;
        for (auto const& [run, alive] : *active) list.push_back(to_object(run, alive));
        print_json("status", {{"runs", list}});
        return kExitOk;
    }
    if (active->empty()) {
        fmt::print("no run is active; osora history lists all\n");
        return kExitOk;
    }
    fmt::print("{:>5}  {:<20}  {:<11}  {:>13}  {:>8}  {:>9}\n", "run", "name", "state", "step",
               "s/step", "ETA");
    for (auto const& [run, alive] : *active) fmt::print("{}", row(run, alive));
    for (auto const& [run, alive] : *active) {
        if (alive) continue;
        fmt::print("run {0} lost its controller; osora resume {0} continues\n", run.folder.number);
    }
    return kExitOk;
}

void print_one(KnownRun const& run, bool alive, int columns) {
    auto const& view = run.view;
    int const ranks = view.nodes * view.ranks_per_node;
    fmt::print("run {} · {} · {} on {}\n", run.folder.name, state_word(view, alive),
               counted(ranks, "rank"), counted(view.nodes, "node"));
    fmt::print("{}\n", run.folder.paths.dir.string());
    Expected const expected = expected_of(run.folder);
    if (is_over(view)) {
        fmt::print("{}", summary(view, expected));
        return;
    }
    for (std::string const& line : progress_lines(view, expected, wall_now_us(), columns)) {
        fmt::print("{}\n", line);
    }
    if (view.status.restarts > 0) {
        fmt::print("relaunched {} of {} times; last: {}\n", view.status.restarts,
                   view.status.restarts_max, printable(view.status.cause));
    }
    if (!alive) fmt::print("no controller: osora resume {} continues\n", run.folder.number);
}

int run(Context const& context, Arguments const& arguments) {
    bool const json = arguments.has("--json");
    if (!arguments.has("RUN")) return all(context, json);
    auto const known = run_of(context, arguments);
    if (known.has_error()) return fail(exit_code_for(known.error().code), known.error().message);
    bool const alive = !is_over(known->view) && has_controller(known->folder.paths);
    if (json) {
        print_json("status", {{"runs", protocol::json::array{to_object(*known, alive)}}});
    } else {
        print_one(*known, alive, context.terminal.columns);
    }
    return kExitOk;
}

}  // namespace

CommandSpec status_command() {
    return {.name = "status",
            .summary = "runs that are active, or one run",
            .details =
                "Without RUN: a table of the runs that are active, and of the newest ones "
                "those that lost their controller. With RUN: its state, progress, restarts "
                "and what to do next.",
            .example = "osora status\nosora status 42 --json",
            .positionals = {run_positional(false)},
            .options = {json_option()},
            .run = run};
}

}  // namespace osora::cli
