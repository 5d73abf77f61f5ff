// osora diff: what differs between two runs, and where the seconds went.
#include "base/text/text.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/history_access.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/report/diff_text.hpp"
#include "db/store/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace osora::cli {
namespace {

constexpr std::size_t kRunsMax = 100;

/// The runs that "41,42,43" names.
Result<std::vector<db::RunHistory>> side_of(db::Store& store, std::string const& asked) {
    auto const words = split(asked, ',');
    if (words.size() > kRunsMax) {
        return Error{Errc::invalid_input, fmt::format("at most {} runs on a side", kRunsMax)};
    }
    std::vector<db::RunHistory> runs;
    for (auto const& word : words) {
        if (word.empty())
            return Error{Errc::invalid_input, fmt::format("an empty name in '{}'", asked)};
        OSORA_TRY(auto const run, db::find_run(store, word));
        OSORA_TRY(auto history, db::load_run(store, run.run_id));
        runs.push_back(std::move(history));
    }
    return runs;
}

/// Returns "" if all runs are different.
std::string named_twice(std::vector<db::RunHistory> const& a,
                        std::vector<db::RunHistory> const& b) {
    std::set<std::string> seen;
    for (auto const* side : {&a, &b}) {
        for (auto const& run : *side) {
            auto const& record = run.summary.run;
            if (!seen.insert(record.uuid).second) {
                return fmt::format("run {} ({}) is named twice", record.number, record.name);
            }
        }
    }
    return {};
}

int run_diff(Context const& context, Arguments const& arguments) {
    auto const asked_a = *arguments.value("A"), asked_b = *arguments.value("B");
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error().message);
    auto const history = open_history_or_warn(*state);
    if (history.has_error()) {
        return fail(exit_code_for(history.error().code), history.error().message);
    }
    auto const a = side_of(**history, asked_a), b = side_of(**history, asked_b);
    for (auto const* side : {&a, &b}) {
        // Exit code 1 would say that B is slower; a missing run is a wrong argument.
        if (side->has_error()) return fail(kExitUsage, side->error().message);
    }
    if (auto const twice = named_twice(*a, *b); !twice.empty()) return fail(kExitUsage, twice);
    auto const found = db::analysis::compare_runs(*a, *b);
    if (arguments.has("--json")) {
        print_json("diff", diff_json(found));
    } else {
        cli::print("{}", diff_text(found, asked_a, asked_b));
    }
    return diff_exit_code(found);
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
                "A and B may each be several runs of the same thing (41,43,45): from three on each "
                "side intervals are over runs, else over blocks of steps inside the runs.\n\n"
                "Exit code 0: B is as fast or faster; 1: B is slower beyond noise, by 3 % or more; "
                "3: too few steps, or other work.",
            .example = "osora diff 41 42\nosora diff 41,43,45 42,44,46 --json",
            .positionals = {{.name = "A",
                             .help = "Number, name, uuid or series of a run, or a list of them.",
                             .complete = Complete::run},
                            {.name = "B",
                             .help = "The run, or runs, to compare with A.",
                             .complete = Complete::run}},
            .options = {json_option("Print JSON (osora.diff/1).")},
            .run = run_diff};
}

}  // namespace osora::cli
