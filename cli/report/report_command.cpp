// osora report: a run compared with its plan, or how a series scales.
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/history_access.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/detect/detect_history.hpp"
#include "cli/report/predictions_text.hpp"
#include "cli/report/report_figures.hpp"
#include "cli/report/report_output.hpp"
#include "cli/report/report_render.hpp"
#include "cli/report/whatif_command.hpp"
#include "db/store/queries.hpp"

#include <fmt/format.h>

#include <limits>

namespace osora::cli {
namespace {

Result<Rendered> run_text(db::Store& store, std::string const& wanted, ReportFormat format) {
    OSORA_TRY(auto const run, db::find_run(store, wanted));
    OSORA_TRY(auto const history, db::load_run(store, run.run_id));
    auto const report = db::analysis::run_report(history, liveness_of(run));
    bool const is_decided =
        report.measured.steps_used > 0 || run.job == "exec" || !report.probe.nodes.empty();
    return Rendered{format == ReportFormat::html
                        ? as_page(page_of(report, run_figures(report, history)))
                        : render(report, format),
                    is_decided ? kExitOk : kExitUndecided};
}

Result<Rendered> series_text(db::Store& store, std::string const& name, ReportFormat format) {
    OSORA_TRY(auto const runs, db::load_series(store, name));
    auto report = db::analysis::series_report(name, runs);
    for (auto& trend : report.trends) {
        OSORA_TRY_VOID(use_repeat(store, name, runs, {}, trend));
    }
    auto const charts = db::analysis::series_charts(report);
    return Rendered{format == ReportFormat::html
                        ? as_page(page_of(report, series_figures(report, charts)))
                        : render(report, format),
                    report.rows.empty() ? kExitUndecided : kExitOk};
}

Result<Rendered> predictions_text(db::Store& store, ReportFormat format) {
    OSORA_TRY(auto const runs, db::list_runs(store, "", std::numeric_limits<int>::max()));
    auto const report = db::analysis::prediction_report(runs);
    return Rendered{render(report, format), report.rows.empty() ? kExitUndecided : kExitOk};
}

int run_report_command(Context const& context, Arguments const& arguments) {
    auto const wanted = arguments.value("RUN");
    auto const series = arguments.value("--series");
    if (arguments.has("--whatif") || arguments.has("--meta")) {
        if (!wanted && !series && !arguments.has("--format")) {
            return print_whatif(arguments.value("--whatif").value_or(""), arguments);
        }
        return fail(kExitUsage, "--whatif reports a trace alone, as text or with --json");
    }
    bool const predictions = arguments.has("--predictions");
    if ((wanted ? 1 : 0) + (series ? 1 : 0) + (predictions ? 1 : 0) != 1) {
        return fail(kExitUsage,
                    "name one run, or one series with --series, or ask for --predictions");
    }
    auto const format = format_of(arguments);
    if (predictions && format == ReportFormat::html)
        return fail(kExitUsage, "--predictions has no page; nearest valid: --format md");
    auto const file = arguments.value("--out");
    if (format == ReportFormat::html) {
        auto const refused = page_for_terminal(context.terminal.interactive, file);
        if (!refused.empty()) return fail(kExitUsage, refused);
    }
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error());
    auto const history = open_history_or_warn(*state);
    if (history.has_error()) {
        return fail(history.error());
    }
    auto const report = predictions ? predictions_text(**history, format)
                        : wanted    ? run_text(**history, *wanted, format)
                                    : series_text(**history, *series, format);
    if (report.has_error()) {
        return fail(report.error());
    }
    return write_rendered(*report, file);
}

}  // namespace

CommandSpec report_command() {
    return {.name = "report",
            .summary = "how fast a run was, and how a series scales",
            .details =
                "With RUN: step time against the plan, loss, memory, where the time of a step "
                "goes, buckets, relaunches and notices. With --series: the runs of that name that "
                "do the same work, by number of ranks; runs that do other work are left out and "
                "named. Step times are medians with the median absolute deviation, after the first "
                "20 steps of each launch (a fifth of a short one). It begins with whether the "
                "step time changed from run to run, and since when. Exit code 3 when nothing was "
                "measured.\n\n"
                "With --predictions: predicted against measured step time of every run in the "
                "history, and how many were within the error that their plan stated.\n\n"
                "With --whatif and --meta: as osora whatif.\n\n"
                "--format html makes one page with charts that needs no network and no other "
                "file: step time over the steps, phases, ranks by steps, loss, memory, the pairs "
                "of a probe; for a series throughput, efficiency and its runs. It prints on A4.",
            .example =
                "osora report 42\nosora report 42 --format html --out report.html\n"
                "osora report --series stdit3-stage1 --format md",
            .positionals = {{.name = "RUN",
                             .help = "Number, name, first characters of the uuid, or a series for "
                                     "its newest run.",
                             .complete = Complete::run,
                             .required = false}},
            .options = {{.name = "--series",
                         .value = "NAME",
                         .help = "The scaling table of the runs with this run.name.",
                         .complete = Complete::run},
                        {.name = "--predictions",
                         .value = "",
                         .help = "Predicted against measured step times of all runs."},
                        {.name = "--whatif",
                         .value = "OPS.csv.gz",
                         .help = "What-if analysis of this trace (CSV, or CSV packed by gzip).",
                         .complete = Complete::file},
                        {.name = "--meta",
                         .value = "META.yaml",
                         .help = "The traced job's sizes: dp_size, pp_size, tp_size, vpp_size.",
                         .complete = Complete::file},
                        {.name = "--format",
                         .value = "FORMAT",
                         .help = "text, json, csv, md or html.",
                         .choices = "text|json|csv|md|html"},
                        {.name = "--out",
                         .value = "FILE",
                         .help = "Write it there instead of to standard output.",
                         .complete = Complete::file,
                         .shorthand = "-o"},
                        json_option("The same as --format json.")},
            .run = run_report_command};
}

}  // namespace osora::cli
