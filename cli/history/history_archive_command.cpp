// osora history export and import: runs in one file, to move them to another machine or to archive
// them; their steps for programs that draw curves.
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/history_access.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/command/state_folder.hpp"
#include "cli/history/history_steps.hpp"
#include "cli/text/terminal.hpp"
#include "db/archive/run_archive.hpp"
#include "db/foreign/import_log.hpp"
#include "db/ingest/ingest.hpp"
#include "db/store/queries.hpp"
#include "protocol/run_directory.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <numeric>
#include <system_error>

namespace osora::cli {
namespace {

namespace json = protocol::json;

json::array runs_json(std::vector<db::ArchivedRun> const& runs) {
    json::array rows;
    for (auto const& run : runs) {
        rows.push_back(json::object{
            {"uuid", run.uuid}, {"name", run.name}, {"number", run.number}, {"bytes", run.bytes}});
    }
    return rows;
}

/// "3 runs, 12.4 MiB"
std::string total_text(std::vector<db::ArchivedRun> const& runs) {
    auto const bytes = std::accumulate(
        runs.begin(), runs.end(), std::int64_t{0},
        [](std::int64_t sum, db::ArchivedRun const& run) { return sum + run.bytes; });
    return fmt::format("{}, {}", counted(static_cast<std::int64_t>(runs.size()), "run"),
                       format_bytes(bytes));
}

/// The runs that the user named, or all whose journals still exist (`history vacuum --journals`
/// leaves the folder); warns about the others.
Result<std::vector<db::RunRecord>> chosen(db::Store& store, Arguments const& arguments) {
    std::vector<db::RunRecord> runs;
    for (auto const& name : arguments.all("RUN...")) {
        OSORA_TRY(auto run, db::find_run(store, name));
        runs.push_back(std::move(run));
    }
    if (!arguments.has("--all")) return runs;
    OSORA_TRY(auto const all, db::list_runs(store, "", std::numeric_limits<int>::max()));
    for (auto const& each : all) {
        auto const journal = protocol::RunPaths{each.run.run_dir}.journal();
        std::error_code missing;
        if (std::filesystem::exists(journal, missing)) {
            runs.push_back(each.run);
        } else {
            cli::print(stderr, "osora: run {} is left out: {} is gone\n", each.run.name,
                       printable(journal.string()));
        }
    }
    return runs;
}

/// --format tensorboard or csv.
int write_steps(std::vector<db::RunRecord> const& runs, std::string const& format,
                Arguments const& arguments) {
    auto const to = *arguments.value("--to");
    auto const exported = format == "csv" ? export_csv(runs, to) : export_event_files(runs, to);
    if (exported.has_error()) return fail(exported.error());
    std::int64_t steps = 0;
    json::array rows;
    for (auto const& each : *exported) {
        steps += each.steps;
        rows.push_back(json::object{{"name", each.name},
                                    {"number", each.number},
                                    {"steps", each.steps},
                                    {"file", each.file}});
    }
    if (arguments.has("--json")) {
        print_json("history.export", {{"format", format}, {"file", to}, {"runs", std::move(rows)}});
    } else {
        cli::print("{} of {} to {}\n", counted(steps, "step"),
                   counted(static_cast<std::int64_t>(exported->size()), "run"), printable(to));
    }
    return steps > 0 ? kExitOk : kExitUndecided;
}

int run_export(Context const& context, Arguments const& arguments) {
    auto const file = arguments.value("--to");
    if (!file || file->empty()) return cli::fail(kExitUsage, "--to FILE is missing");
    if (arguments.has("--all") != arguments.all("RUN...").empty()) {
        return cli::fail(kExitUsage, "name runs, or all of them with --all");
    }
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(state.error());
    auto const history = open_history_or_warn(*state);
    if (history.has_error()) return fail(history.error());
    auto const runs = chosen(**history, arguments);
    if (runs.has_error()) return fail(runs.error());
    if (runs->empty()) return cli::fail(kExitUndecided, "there is no run to export");
    auto const format = arguments.value("--format").value_or("archive");
    if (format != "archive") return write_steps(*runs, format, arguments);
    auto const exported = db::export_runs(*runs, *file);
    if (exported.has_error()) return fail(exported.error());
    if (arguments.has("--json")) {
        print_json("history.export", {{"file", *file}, {"runs", runs_json(*exported)}});
    } else {
        cli::print("{} to {}\n", total_text(*exported), printable(*file));
    }
    return kExitOk;
}

Result<db::Imported> import_any(db::Store& store, std::filesystem::path const& state,
                                std::filesystem::path const& file) {
    OSORA_TRY(bool const is_log, db::is_log(file));
    return is_log ? db::import_log(store, state, file) : db::import_runs(store, state, file);
}

int run_import(Context const& context, Arguments const& arguments) {
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(state.error());
    if (auto const own = own_state(context, *state); own.has_error()) return fail(own.error());
    auto const store = db::Store::open(db::history_file(*state));
    if (store.has_error()) return fail(store.error());
    auto const ingested = db::ingest_all(**store, *state);
    if (ingested.has_error()) return fail(ingested.error());
    auto const imported = import_any(**store, *state, *arguments.value("FILE"));
    if (imported.has_error()) return fail(imported.error());
    if (arguments.has("--json")) {
        print_json("history.import", {{"added", runs_json(imported->added)},
                                      {"updated", runs_json(imported->updated)},
                                      {"known", runs_json(imported->known)}});
        return kExitOk;
    }
    cli::print("{} added\n", total_text(imported->added));
    if (!imported->updated.empty()) {
        cli::print("{} brought up to date\n", total_text(imported->updated));
    }
    if (!imported->known.empty()) {
        cli::print("{} here already, nothing changed there\n",
                   counted(static_cast<std::int64_t>(imported->known.size()), "run"));
    }
    return kExitOk;
}

}  // namespace

CommandSpec history_export_command() {
    return {
        .name = "history export",
        .summary = "export runs to one file",
        .details =
            "Writes the journals and run files of runs to one file that osora history import "
            "reads on another machine. It holds no logs, checkpoints, environments, tokens or "
            "keys; secrets of [worker] env are digests, and the last lines of a failed rank are "
            "without them. Paths, hosts and commands are in it. A file that exists is not "
            "overwritten.\n\n"
            "--format tensorboard writes the steps of each run to "
            "FILE/NAME/events.out.tfevents...: "
            "loss, rate, step time and its parts, samples a second, memory, and losses of "
            "evaluations; open the folder with tensorboard --logdir FILE. --format csv writes one "
            "table with a row for each step. Each step is there once, as the last attempt ran it. "
            "Exit code 3: the runs have no steps.",
        .example =
            "osora history export 41 42 --to case.osora\n"
            "osora history export 41 42 --format tensorboard --to curves",
        .positionals = {{.name = "RUN...",
                         .help = "Numbers, names or uuids.",
                         .complete = Complete::run,
                         .required = false,
                         .repeated = true}},
        .options = {{.name = "--to",
                     .value = "FILE",
                     .help = "The file to make; with --format tensorboard a folder.",
                     .complete = Complete::file},
                    {.name = "--format",
                     .value = "FORMAT",
                     .help = "archive (for osora history import), tensorboard or csv.",
                     .choices = "archive|tensorboard|csv"},
                    {.name = "--all", .value = "", .help = "Every run whose journal is there."},
                    json_option()},
        .run = run_export};
}

CommandSpec history_import_command() {
    return {.name = "history import",
            .summary = "import runs from such a file, or from logs of others",
            .details =
                "Adds the runs of a file that osora history export made. All of it is verified "
                "before a run appears. A run that was imported while it was running is replaced by "
                "a later export of it; other runs that are here already are not changed, so "
                "importing twice changes nothing. Exit code 2: not such a file, or of another "
                "version; 1: "
                "cut off or damaged.\n\n"
                "FILE may also be a training log of MLPerf (lines with :::MLLOG), or a file of "
                "NCCL's inspector plug-in or a folder of them (one job): each becomes one run "
                "that osora diff, report and sql read. Its notices say what the log left open.",
            .example =
                "osora history import case.osora\n"
                "osora history import result_0.txt",
            .positionals = {{.name = "FILE",
                             .help = "The file, or a folder of the inspector's.",
                             .complete = Complete::file}},
            .options = {json_option()},
            .run = run_import};
}

}  // namespace osora::cli
