// osora nccl env: every variable of NCCL and Gloo that ranks would get, or that a run's ranks got.
#include "base/files/files.hpp"
#include "cli/cluster/advice_inputs.hpp"
#include "cli/cluster/env_rows.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/run/journal_tail.hpp"
#include "cli/run/runs.hpp"
#include "cli/text/terminal.hpp"
#include "protocol/run_directory.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::cli {
namespace {

namespace json = protocol::json;

constexpr int kEnvIndent = 4;

struct Shown {
    std::string title;
    std::vector<EnvRow> rows;
    std::vector<std::string> warnings;
};

bool must_go(EnvRow const& row) {
    return row.cls == "B";
}

int print_as_json(Shown const& shown) {
    json::array settings;
    for (EnvRow const& each : shown.rows) {
        json::object row{{"name", each.name},         {"value", each.value},
                         {"class", each.cls},         {"origin", each.origin},
                         {"reason", each.reason},     {"nodes", protocol::to_json(each.nodes)},
                         {"leave_on", !must_go(each)}};
        if (!each.ranks.empty()) row["ranks"] = each.ranks;
        if (!each.ordered.empty()) row["ordered"] = each.ordered;
        settings.push_back(std::move(row));
    }
    print_json("nccl_env",
               {{"settings", settings}, {"warnings", protocol::to_json(shown.warnings)}});
    return kExitOk;
}

std::string row_text(EnvRow const& row) {
    std::string head = row.name + "=" + row.value;
    if (!row.nodes.empty()) head += " on " + nodes_text(row.nodes);
    std::string body = row.cls.empty() ? "" : row.cls + ", ";
    body += row.origin;
    if (!row.ranks.empty()) body += ", ranks " + row.ranks;
    if (!row.ordered.empty()) body += "; planned: " + row.ordered;
    if (!row.reason.empty()) body += ": " + row.reason;
    if (must_go(row)) body += " (class B: not to be left on)";
    return filled(printable(head), 1, kColumns) + filled(printable(body), kEnvIndent, kColumns);
}

int print_as_text(Shown const& shown) {
    auto const going = std::ranges::count_if(shown.rows, must_go);
    auto const differ =
        std::ranges::count_if(shown.rows, [](EnvRow const& each) { return !each.ordered.empty(); });
    cli::print("{}", filled(printable(shown.title), 0, kColumns));
    if (shown.rows.empty()) cli::print("nothing is set: NCCL and Gloo decide for themselves\n");
    if (differ > 0) cli::print("{} not as the plan sets them (listed first)\n", differ);
    if (going > 0) cli::print("{} not to be left on (class B)\n", going);
    for (EnvRow const& each : shown.rows) cli::print("{}", row_text(each));
    for (auto const& each : shown.warnings) {
        cli::print("{}", filled("look at: " + printable(each), 0, kColumns));
    }
    return kExitOk;
}

Shown planned(AdviceSources const& sources) {
    Shown shown;
    shown.title = "a rank would get: " + sources.title;
    for (auto const& each : plan::nccl_settings(sources.inputs)) {
        shown.rows.push_back(
            {each.name, each.value, each.cls, each.origin, each.reason, each.nodes});
    }
    if (sources.inputs.gpu) add_flight_recorder(shown.rows);
    shown.warnings = plan::advise_nccl(sources.inputs).warnings;
    return shown;
}

Result<Shown> of_run(Context const& context, std::string const& wanted) {
    OSORA_TRY(auto const state, state_dir(context.environment));
    OSORA_TRY(auto const run, find_run(state, wanted, Imported::taken));
    OSORA_TRY(auto const text, read_file(run.paths.job()));
    OSORA_TRY(auto const job, protocol::decode<plan::WorkerJob>(text));
    std::map<int, std::string> hosts;
    std::map<int, protocol::RankStarted> ranks;
    JournalTail journal(run.paths.journal());
    while (true) {
        OSORA_TRY(auto const records, journal.read());
        if (records.empty()) break;
        for (auto const& record : records) {
            if (auto const* joined = std::get_if<protocol::AgentJoined>(&record.event)) {
                hosts[joined->node] = joined->host;
            } else if (auto const* started = std::get_if<protocol::RankStarted>(&record.event)) {
                auto const known = ranks.find(started->rank);
                bool const newer =
                    known == ranks.end() || started->attempt >= known->second.attempt;
                if (newer) ranks[started->rank] = *started;
            }
        }
    }
    Shown shown;
    shown.title = fmt::format("run {}: {} rank{} said after start", run.name, ranks.size(),
                              ranks.size() == 1 ? "" : "s");
    shown.rows = effective_rows(job, hosts, ranks);
    if (shown.rows.empty()) {
        shown.warnings.push_back(
            ranks.empty()
                ? "no rank has started, or the ranks run a user program"
                : "its ranks did not report their variables: a user program, or an older osora");
    }
    return shown;
}

int run_nccl_env(Context const& context, Arguments const& arguments) {
    Shown shown;
    if (auto const wanted = arguments.value("--run")) {
        if (arguments.has("RUN.toml")) {
            return fail(kExitUsage, "nccl env: RUN.toml and --run: give one of the two");
        }
        auto found = of_run(context, *wanted);
        if (found.has_error()) {
            return fail(found.error());
        }
        shown = std::move(*found);
    } else {
        auto const sources = advice_sources(context, arguments);
        if (sources.has_error()) return sources.error();
        shown = planned(*sources);
    }
    return arguments.has("--json") ? print_as_json(shown) : print_as_text(shown);
}

std::vector<OptionSpec> env_options() {
    auto options = advice_options();
    options.insert(options.begin(), {.name = "--run",
                                     .value = "RUN",
                                     .help = "What the ranks of this run saw after their start.",
                                     .complete = Complete::run});
    return options;
}

}  // namespace

CommandSpec nccl_env_command() {
    return {.name = "nccl env",
            .summary = "every NCCL and Gloo variable that a rank gets, and where from",
            .details =
                "Prints NCCL_*, TORCH_NCCL_* and GLOO_* as ranks of a run file would get them, "
                "with class, origin and reason; those of class B are not to be left on. With "
                "--run: as the ranks of that run saw them after their start, and where that is "
                "not what was ordered.",
            .example = "osora nccl env stage1.toml\nosora nccl env --run 42",
            .positionals = {run_file_positional(false)},
            .options = env_options(),
            .run = run_nccl_env};
}

}  // namespace osora::cli
