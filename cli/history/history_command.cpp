// osora history: the runs of this state folder, and history.db rebuilt from their journals.
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/history_access.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/command/state_folder.hpp"
#include "cli/report/report_render.hpp"
#include "db/ingest/ingest.hpp"
#include "db/store/queries.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

namespace osora::cli {
namespace {

constexpr int kLimit = 20;

/// For a list without runs.
Result<std::string> no_run_text(db::Store& store, std::string const& query) {
    OSORA_TRY(auto const all, db::all_runs(store));
    if (query.empty() || all.empty()) return render(std::vector<HistoryRow>(), ReportFormat::text);
    return fmt::format("no run matches {} (of {})\n", printable(query),
                       counted(static_cast<std::int64_t>(all.size()), "run"));
}

int list(Context const& context, Arguments const& arguments) {
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error());
    auto const limit = arguments.number("--limit", 1, 1'000'000);
    if (limit.has_error()) return fail(kExitUsage, limit.error());
    auto const history = open_history_or_warn(*state);
    if (history.has_error()) {
        return fail(history.error());
    }
    auto const query = arguments.value("QUERY").value_or("");
    auto const runs = db::list_runs(**history, query, limit->value_or(kLimit));
    if (runs.has_error()) return fail(runs.error());
    if (runs->empty() && format_of(arguments) == ReportFormat::text) {
        auto const text = no_run_text(**history, query);
        if (text.has_error()) return fail(text.error());
        cli::print("{}", *text);
        return kExitOk;
    }
    std::vector<HistoryRow> rows;
    for (auto const& run : *runs) {
        rows.push_back({run, db::analysis::state_of(run.run, liveness_of(run.run))});
    }
    cli::print("{}", render(rows, format_of(arguments)));
    return kExitOk;
}

/// "2 runs are only in the old file, because their journals are gone: tiny-0001, tiny-0002"
std::string only_in_kept_text(std::vector<std::string> const& names) {
    constexpr std::size_t kNamed = 5;
    if (names.empty()) return {};
    auto const shown = std::min(names.size(), kNamed);
    auto text =
        fmt::format("{} only in the old file, because {} gone: {}",
                    names.size() == 1 ? "1 run is" : fmt::format("{} runs are", names.size()),
                    names.size() == 1 ? "its journal is" : "their journals are",
                    fmt::join(names.begin(), names.begin() + std::ptrdiff_t(shown), ", "));
    if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
    return printable(text) + "\n";
}

int rebuild(Context const& context, Arguments const& arguments) {
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error());
    if (auto const own = own_state(context, *state); own.has_error()) return fail(own.error());
    auto const rebuilt = db::rebuild(*state);
    if (rebuilt.has_error()) {
        return fail(rebuilt.error());
    }
    for (auto const& problem : rebuilt->ingested.problems) {
        cli::print(stderr, "osora: {}\n", problem);
    }
    if (arguments.has("--json")) {
        print_json("history.rebuild", {{"runs", rebuilt->ingested.changed},
                                       {"records", rebuilt->ingested.records},
                                       {"kept", rebuilt->kept.string()},
                                       {"only_in_kept", protocol::to_json(rebuilt->only_in_kept)}});
        return kExitOk;
    }
    cli::print("history rebuilt from {} of {} journals\n", rebuilt->ingested.changed,
               rebuilt->ingested.runs);
    if (!rebuilt->kept.empty()) cli::print("the old file is {}\n", rebuilt->kept.string());
    cli::print("{}", only_in_kept_text(rebuilt->only_in_kept));
    return kExitOk;
}

}  // namespace

CommandSpec history_command() {
    return {.name = "history",
            .summary = "all runs, newest first",
            .details =
                "Lists runs with their state, steps, median step time and last loss. With "
                "QUERY only those whose name, model, user, verdict, cause or commit "
                "contains it.",
            .example = "osora history\nosora history stage1 --limit 5 --format csv",
            .positionals = {{.name = "QUERY",
                             .help = "Text to look for.",
                             .complete = Complete::run,
                             .required = false}},
            .options = {{.name = "--limit", .value = "N", .help = "At most N runs (20)."},
                        format_option(),
                        json_option("The same as --format json.")},
            .run = list};
}

CommandSpec history_rebuild_command() {
    return {.name = "history rebuild",
            .summary = "rebuild history.db from the journals",
            .details =
                "Moves a history.db that is damaged aside (it is never removed) and fills "
                "a new one from the journals of all runs. Names the runs that only the old file "
                "has, because their journals are gone.",
            .example = "osora history rebuild",
            .positionals = {},
            .options = {json_option()},
            .run = rebuild};
}

}  // namespace osora::cli
