// osora diff: what differs between two runs, and where the seconds went.
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/history_access.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/report/diff_sides.hpp"
#include "cli/report/diff_text.hpp"
#include "cli/report/report_output.hpp"
#include "cli/report/report_render.hpp"

namespace osora::cli {
namespace {

int run_diff(Context const& context, Arguments const& arguments) {
    auto const asked_a = *arguments.value("A"), asked_b = *arguments.value("B");
    auto const format = format_of(arguments);
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
    auto const sides = diff_sides(**history, asked_a, asked_b);
    // Exit code 1 would say that B is slower; a missing run is a wrong argument.
    if (sides.has_error()) return fail(kExitUsage, sides.error());
    auto const found = db::analysis::compare_runs(sides->a, sides->b);
    Rendered rendered{.text = {}, .exit_code = diff_exit_code(found)};
    switch (format) {
        case ReportFormat::json:
            rendered.text = json_text("diff", diff_json(found));
            break;
        case ReportFormat::html:
            rendered.text = as_page(diff_page(*sides, asked_a, asked_b));
            break;
        default:
            rendered.text = diff_text(found, asked_a, asked_b);
    }
    return write_rendered(rendered, file);
}

}  // namespace

CommandSpec diff_command() {
    return {.name = "diff",
            .summary = "what differs between two runs, and where the time went",
            .details =
                "Says whether B is slower than A and where the seconds of its step went: compute, "
                "another mix of buckets, waiting for a slower rank or for its data, exposed "
                "communication, the loader, the host. The rows add up to the gap. Steps are "
                "compared bucket by bucket, and when B's ranks do another number of samples, A is "
                "brought to it first. Then the items that differ: run file, plan, software, "
                "environment, hardware, nodes; names, ports, time limits and the like of one "
                "launch are left out.\n\n"
                "--format html makes one page with all items and the charts of both runs.\n\n"
                "A and B may each be several runs of the same thing (41,43,45): from three on each "
                "side intervals are over runs, else over blocks of steps inside the runs.\n\n"
                "Exit code 0: B is as fast or faster; 1: B is slower beyond noise, by 3 % or more; "
                "3: too few steps, or other work.",
            .example =
                "osora diff 41 42\nosora diff 41,43,45 42,44,46 --json\n"
                "osora diff 41 42 --format html --out diff.html",
            .positionals = {{.name = "A",
                             .help = "Number, name, uuid or series of a run, or a list of them.",
                             .complete = Complete::run},
                            {.name = "B",
                             .help = "The run, or runs, to compare with A.",
                             .complete = Complete::run}},
            .options = {{.name = "--format",
                         .value = "FORMAT",
                         .help = "text, json or html.",
                         .choices = "text|json|html"},
                        {.name = "--out",
                         .value = "FILE",
                         .help = "Write it there instead of to standard output.",
                         .complete = Complete::file,
                         .shorthand = "-o"},
                        json_option("The same as --format json (osora.diff/1).")},
            .run = run_diff};
}

}  // namespace osora::cli
