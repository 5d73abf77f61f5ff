// osora report: what a run did against its plan, or how a series scales.
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/history_access.hpp"
#include "cli/report_render.hpp"
#include "cli/report_whatif.hpp"
#include "cli/run_file_command.hpp"
#include "db/queries.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

int report_run(db::Store& store, std::string const& wanted, ReportFormat format) {
    auto const run = db::find_run(store, wanted);
    if (run.has_error()) return fail(exit_code_for(run.error().code), run.error().message);
    auto const history = db::load_run(store, run->run_id);
    if (history.has_error()) {
        return fail(exit_code_for(history.error().code), history.error().message);
    }
    auto const report = db::analysis::run_report(*history, surroundings_of(*run));
    fmt::print("{}", render(report, format));
    return report.measured.steps_used > 0 || run->job == "exec" ? kExitOk : kExitUndecided;
}

int report_series(db::Store& store, std::string const& name, ReportFormat format) {
    auto const runs = db::load_series(store, name);
    if (runs.has_error()) return fail(exit_code_for(runs.error().code), runs.error().message);
    auto const report = db::analysis::series_report(name, *runs);
    fmt::print("{}", render(report, format));
    return report.rows.empty() ? kExitUndecided : kExitOk;
}

int run(Context const& context, Arguments const& arguments) {
    auto const wanted = arguments.value("RUN");
    auto const series = arguments.value("--series");
    if (arguments.has("--whatif") || arguments.has("--meta")) {
        if (!wanted && !series && !arguments.has("--format")) return report_whatif(arguments);
        return fail(kExitUsage, "--whatif reports a trace alone, as text or with --json");
    }
    if (wanted.has_value() == series.has_value()) {
        return fail(kExitUsage, "name one run, or one series with --series");
    }
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error().message);
    auto const history = open_history(*state);
    if (history.has_error()) {
        return fail(exit_code_for(history.error().code), history.error().message);
    }
    for (auto const& warning : history->warnings) fmt::print(stderr, "osora: {}\n", warning);
    auto const format = format_of(arguments);
    return wanted ? report_run(*history->store, *wanted, format)
                  : report_series(*history->store, *series, format);
}

}  // namespace

CommandSpec report_command() {
    return {.name = "report",
            .summary = "how fast a run was, and how a series scales",
            .details =
                "With RUN: step time against the plan, loss, memory, where the time of a step "
                "goes, buckets, relaunches and notices. With --series: the runs of that name that "
                "do the same work, by number of ranks; runs that do other work are left out and "
                "named. Step times are medians with the median absolute deviation, behind the "
                "first 20 steps of each launch (a fifth of a short one). Exit code 3 when nothing "
                "was measured.\n\n"
                "With --whatif and --meta: how much of a traced job's step is straggling, and "
                "which worker, stage or type of op holds it. The trace is replayed with each op "
                "as long as is typical of its type (ByteDance's what-if analysis, OSDI'25). It "
                "has the columns step,dp_rank,stage,op,seq_id,model_chunk,mb_id,start_us,dur_us.",
            .example =
                "osora report 42\nosora report --series stdit3-stage1 --format md\n"
                "osora report --whatif ops.csv.gz --meta meta.yaml",
            .positionals = {{.name = "RUN",
                             .help = "Number, name, first characters of the uuid, or a series for "
                                     "its newest run.",
                             .complete = Complete::run,
                             .required = false}},
            .options = {{.name = "--series",
                         .value = "NAME",
                         .help = "The scaling table of the runs with this run.name.",
                         .complete = Complete::run},
                        {.name = "--whatif",
                         .value = "OPS.csv.gz",
                         .help = "What-if analysis of this trace (CSV, or CSV packed by gzip).",
                         .complete = Complete::file},
                        {.name = "--meta",
                         .value = "META.yaml",
                         .help = "The traced job's sizes: dp_size, pp_size, tp_size, vpp_size.",
                         .complete = Complete::file},
                        format_option(),
                        json_option("The same as --format json.")},
            .run = run};
}

}  // namespace osora::cli
