// osora history vacuum and check: shrink history.db, and check that it is sound.
#include "base/files/file_lock.hpp"
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/command/state_folder.hpp"
#include "cli/text/terminal.hpp"
#include "db/ingest/check.hpp"
#include "db/ingest/ingest.hpp"
#include "db/retention/retention.hpp"
#include "protocol/run_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace osora::cli {
namespace {

namespace json = protocol::json;

/// The file itself, up to date: a history that was read into memory has nothing to shrink.
Result<std::unique_ptr<db::Store>> open_file(Context const& context) {
    OSORA_TRY(auto const state, state_dir(context.environment));
    std::error_code missing;
    if (!std::filesystem::exists(db::history_file(state), missing)) {
        return Error{Errc::not_found, state.string() + ": no history.db"};
    }
    OSORA_TRY_VOID(own_state(context, state));
    OSORA_TRY(auto store, db::Store::open(db::history_file(state)));
    OSORA_TRY(auto const read, db::ingest_all(*store, state));
    for (auto const& problem : read.problems) cli::print(stderr, "osora: {}\n", problem);
    return store;
}

Result<db::RetentionRules> rules_of(Arguments const& arguments) {
    db::RetentionRules rules;
    OSORA_TRY(auto const step_days, arguments.number("--keep-days", 0, 100'000));
    OSORA_TRY(auto const matrix_days, arguments.number("--matrix-days", 0, 100'000));
    OSORA_TRY(auto const matrix_mib, arguments.number("--matrix-mib", 0, 1 << 30));
    auto const now = std::chrono::system_clock::now().time_since_epoch();
    rules.now_us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
    if (step_days) rules.step_days = *step_days;
    if (matrix_days) rules.matrix_days = *matrix_days;
    if (matrix_mib) rules.matrix_bytes = *matrix_mib * kMiB;
    rules.journals = arguments.has("--journals");
    rules.is_live = [](std::string const& run_dir) {
        return FileLock::is_held(protocol::RunPaths{run_dir}.lock());
    };
    return rules;
}

db::RunRetention total_of(db::RetentionPlan const& plan) {
    db::RunRetention total;
    for (auto const& run : plan.runs) {
        total.matrix_bytes += run.matrix_bytes;
        total.step_rows += run.step_rows;
        total.journal_bytes += run.journal_bytes;
    }
    return total;
}

void say_plan(db::RetentionPlan const& plan) {
    constexpr std::size_t kNamed = 10;
    auto const total = total_of(plan);
    if (plan.runs.empty()) {
        cli::print("nothing is due");
    } else {
        cli::print("{}: matrices of single ranks {}, {}",
                   counted(static_cast<std::int64_t>(plan.runs.size()), "run"),
                   format_bytes(total.matrix_bytes), counted(total.step_rows, "step"));
        if (total.journal_bytes > 0) {
            cli::print(", journals {}", format_bytes(total.journal_bytes));
        }
    }
    if (plan.live > 0) cli::print(" ({} left alone: live)", counted(plan.live, "run"));
    cli::print("\n");
    for (std::size_t i = 0; i < std::min(kNamed, plan.runs.size()); ++i) {
        auto const& run = plan.runs[i];
        cli::print("  {}  {}, {}{}\n", printable(run.name), format_bytes(run.matrix_bytes),
                   counted(run.step_rows, "step"), run.journal_bytes > 0 ? ", its journal" : "");
    }
    if (plan.runs.size() > kNamed) cli::print("  and {} more\n", plan.runs.size() - kNamed);
}

json::object plan_json(db::RetentionPlan const& plan) {
    json::array runs;
    for (auto const& run : plan.runs) {
        runs.push_back(json::object{{"name", run.name},
                                    {"matrix_bytes", run.matrix_bytes},
                                    {"steps", run.step_rows},
                                    {"journal_bytes", run.journal_bytes}});
    }
    return {{"runs", std::move(runs)}, {"live", plan.live}, {"free_bytes", plan.free_bytes}};
}

int run_vacuum(Context const& context, Arguments const& arguments) {
    auto const rules = rules_of(arguments);
    if (rules.has_error()) return fail(rules.error());
    auto const store = open_file(context);
    if (store.has_error()) return fail(store.error());
    auto const plan = db::plan_retention(**store, *rules);
    if (plan.has_error()) return fail(plan.error());
    bool const as_json = arguments.has("--json"), dry = arguments.has("--dry-run");
    if (!as_json) say_plan(*plan);
    std::fflush(stdout);
    std::int64_t freed = 0;
    if (!dry) {
        auto const done = db::apply_retention(**store, *plan, *rules);
        if (done.has_error()) return fail(done.error());
        freed = *done;
    }
    if (as_json) {
        auto members = plan_json(*plan);
        members["dry_run"] = dry;
        members["freed_bytes"] = freed;
        print_json("history.vacuum", members);
    } else if (!dry) {
        cli::print("history.db is {} smaller\n", format_bytes(freed));
    }
    return kExitOk;
}

int run_check(Context const& context, Arguments const& arguments) {
    auto const store = open_file(context);
    if (store.has_error()) return fail(store.error());
    auto const check = db::check_history(**store);
    if (check.has_error()) return fail(check.error());
    if (arguments.has("--json")) {
        json::array problems(check->problems.begin(), check->problems.end());
        json::array notes(check->notes.begin(), check->notes.end());
        print_json("history.check", {{"runs", check->runs},
                                     {"journals", check->journals},
                                     {"problems", std::move(problems)},
                                     {"notes", std::move(notes)}});
        return check->problems.empty() ? kExitOk : kExitBad;
    }
    for (auto const& problem : check->problems) cli::print("{}\n", printable(problem));
    for (auto const& note : check->notes) cli::print("note: {}\n", printable(note));
    cli::print("{} and {}: {}\n", counted(check->runs, "run"), counted(check->journals, "journal"),
               check->problems.empty()
                   ? "sound"
                   : counted(static_cast<std::int64_t>(check->problems.size()), "problem") +
                         "; osora history rebuild rebuilds history.db from the journals");
    return check->problems.empty() ? kExitOk : kExitBad;
}

}  // namespace

CommandSpec history_vacuum_command() {
    return {
        .name = "history vacuum",
        .summary = "make history.db smaller",
        .details =
            "Thins what long-ended runs left: every tenth step after the first 500 stays, and "
            "50 around each warning; what each rank took goes after 7 days, but for the first "
            "100 steps and 50 around warnings, or all of it over 2 GiB. Reports stay as they were. "
            "Says what goes before it does it. Runs that are "
            "live, summaries, events and probes are not touched, and journals only with "
            "--journals.",
        .example = "osora history vacuum --dry-run\nosora history vacuum --keep-days 90",
        .positionals = {},
        .options = {{.name = "--keep-days",
                     .value = "N",
                     .help = "Every step of runs that ended within N days (30)."},
                    {.name = "--matrix-days",
                     .value = "N",
                     .help = "What each rank took, of runs that ended within N days (7)."},
                    {.name = "--matrix-mib", .value = "N", .help = "At most so much of it (2048)."},
                    {.name = "--journals",
                     .value = "",
                     .help =
                         "Remove journals of runs older than --keep-days: history.db is then all "
                         "that is left of them."},
                    {.name = "--dry-run", .value = "", .help = "Only say what would go."},
                    json_option()},
        .run = run_vacuum};
}

CommandSpec history_check_command() {
    return {.name = "history check",
            .summary = "whether history.db is sound",
            .details =
                "Checks the file, the references between its rows, and for each journal whether "
                "it still is what was read and as many events are in history.db. Exit code 1 when "
                "something is wrong.",
            .example = "osora history check",
            .positionals = {},
            .options = {json_option()},
            .run = run_check};
}

}  // namespace osora::cli
