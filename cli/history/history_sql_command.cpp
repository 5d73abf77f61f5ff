// osora history sql: runs a user's query on history.db.
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/history_access.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/command/signals.hpp"
#include "cli/history/sql_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace osora::cli {
namespace {

constexpr std::size_t kTextRows = 1000;  // of a table for people
constexpr int kTimeLimitSeconds = 30;

/// What a user can query; printed when no query was given.
constexpr char const* kViews =
    "SELECT m.name AS view, group_concat(c.name,' ') AS columns FROM sqlite_master m, "
    "pragma_table_info(m.name) c WHERE m.type='view' GROUP BY m.name ORDER BY m.name";

Result<std::string> read_stdin() {
    constexpr std::size_t kMost = 1 << 20;
    std::string text;
    char buffer[4096];
    for (std::size_t got; (got = std::fread(buffer, 1, sizeof buffer, stdin)) > 0;) {
        text.append(buffer, got);
        if (text.size() > kMost) {
            return Error{Errc::invalid_input, "the query on stdin is longer than 1 MiB"};
        }
    }
    return text;
}

std::string view_list(db::SqlResult const& views, int columns) {
    std::string text = "views of history.db (osora history sql \"SELECT ...\"):\n";
    for (auto const& row : views.rows) {
        text += std::get<std::string>(row[0]) + "\n";
        text += filled(std::get<std::string>(row[1]), 4, columns);
    }
    return text;
}

Result<db::SqlLimits> limits_of(Arguments const& arguments, ReportFormat format) {
    OSORA_TRY(auto const rows, arguments.number("--limit", 1, 1'000'000'000));
    OSORA_TRY(auto const seconds, arguments.number("--time-limit", 1, 86'400));
    db::SqlLimits limits;
    limits.time = std::chrono::seconds(seconds.value_or(kTimeLimitSeconds));
    if (format == ReportFormat::text) limits.rows = kTextRows;
    if (rows) limits.rows = static_cast<std::size_t>(*rows);
    return limits;
}

int answer_query(Context const& context, Arguments const& arguments, db::Store& store,
                 std::string const& sql) {
    auto const format = format_of(arguments);
    auto limits = limits_of(arguments, format);
    if (limits.has_error()) return fail(kExitUsage, limits.error());
    auto signals = SignalSource::open();
    limits->stopped = [&signals] {
        auto const seen = signals.take();
        return std::ranges::any_of(seen, [](int each) { return each != SIGWINCH; });
    };
    auto const result = db::query_sql(store, sql.empty() ? kViews : sql, *limits);
    if (result.has_error()) {
        // A query that takes too long must not be reported as an unreachable host.
        bool const late = result.error().code == Errc::timed_out;
        return fail(late ? kExitUndecided : exit_code_for(result.error().code), result.error());
    }
    int const columns = context.terminal.interactive ? context.terminal.columns : 80;
    bool const list = sql.empty() && format == ReportFormat::text;
    auto const text = list ? view_list(*result, columns) : render(*result, format, columns);
    print_text(stdout, text);
    if (result->more && format != ReportFormat::json) {
        std::fflush(stdout);
        cli::print(stderr, "osora: the first {} rows; --limit N shows more\n", limits->rows);
    }
    return kExitOk;
}

int run_history_sql(Context const& context, Arguments const& arguments) {
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error());
    std::string sql = arguments.value("SQL").value_or("");
    if (sql == "-") {
        auto const text = read_stdin();
        if (text.has_error()) return fail(kExitUsage, text.error());
        sql = *text;
    }
    if (arguments.has("SQL") && sql.find_first_not_of(" \t\r\n;") == std::string::npos) {
        return fail(kExitUsage, "the query is empty; try SELECT * FROM v_run");
    }
    auto const history = open_history_or_warn(*state);
    if (history.has_error()) {
        return fail(history.error());
    }
    return answer_query(context, arguments, **history, sql);
}

}  // namespace

CommandSpec history_sql_command() {
    return {.name = "history sql",
            .summary = "ask history.db in SQL",
            .details =
                "Runs one SELECT on the history, which is brought up to date first and cannot be "
                "changed here. Without SQL: the views and their columns (docs/guide/history.md). "
                "Text shows 1,000 rows unless --limit says otherwise; the other formats show all. "
                "Exit code 3 when the query is not done within its time limit.",
            .example =
                "osora history sql \"SELECT run, step_s FROM v_run ORDER BY step_s DESC\"\n"
                "osora history sql \"SELECT part, gap_s FROM v_attribution WHERE run=42\"\n"
                "osora history sql - --format csv < query.sql > rows.csv",
            .positionals = {{.name = "SQL",
                             .help = "The query; - reads it from stdin.",
                             .required = false}},
            .options = {{.name = "--limit", .value = "N", .help = "At most N rows."},
                        {.name = "--time-limit",
                         .value = "SECONDS",
                         .help = "Give up after this long (30)."},
                        format_option(),
                        json_option("The same as --format json.")},
            .run = run_history_sql};
}

}  // namespace osora::cli
