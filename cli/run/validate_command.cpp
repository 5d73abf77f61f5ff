// osora validate: every error of a run file at once.
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/plan/plan_run.hpp"
#include "plan/config/cross_checks.hpp"
#include "plan/config/notify_checks.hpp"
#include "plan/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace osora::cli {
namespace {

/// Adds the rules that need the model and the machine, except for keys that already have a problem.
void check_against_machine(Context const& context, plan::ResolvedConfig& resolved) {
    bool const local = resolved.config.resources.backend == "local";
    auto const cluster = local ? local_cluster(context) : topology::Cluster{};
    auto const known = resolved.problems;
    auto const named = [&](std::string const& key) {
        return resolved.unread.contains(key) ||
               std::ranges::any_of(known, [&](plan::ConfigProblem const& each) {
                   return each.message.starts_with(key + " ") ||
                          each.message.starts_with(key + ":");
               });
    };
    for (auto const& each : plan::config_violations(resolved.config, cluster)) {
        if (named(each.key)) continue;
        resolved.problems.push_back(plan::problem_of(resolved, each.key, each.message));
    }
    std::ranges::stable_sort(resolved.problems, {}, [](plan::ConfigProblem const& each) {
        return std::pair(each.where.layer, each.where.line);
    });
}

std::vector<std::string> notes_of(plan::ResolvedConfig const& resolved, std::string_view path) {
    std::vector<std::string> notes;
    for (auto const& list :
         {plan::unsupported(resolved), plan::without_effect(resolved),
          plan::notify_warnings(resolved, path), plan::metrics_warnings(resolved)}) {
        for (auto const& each : list) notes.push_back(plan::to_text(each));
    }
    return notes;
}

int run_validate(Context const& context, Arguments const& arguments) {
    auto const request = config_request(context, arguments);
    auto resolved = plan::load_config(request);
    if (resolved.whole) check_against_machine(context, resolved);
    bool const ok = resolved.problems.empty();
    auto const notes = ok ? notes_of(resolved, variable_or(context.environment, "PATH", ""))
                          : std::vector<std::string>();
    if (arguments.has("--json")) {
        print_json("validate", {{"ok", ok},
                                {"problems", problems_json(resolved.problems)},
                                {"notes", protocol::json::array(notes.begin(), notes.end())}});
    } else if (ok) {
        for (auto const& note : notes) cli::print(stderr, "note: {}\n", note);
        cli::print("{}: ok\n", request.run_file.string());
    } else {
        cli::print("{}", problem_list(resolved.problems));
    }
    return ok ? kExitOk : kExitUsage;
}

}  // namespace

CommandSpec validate_command() {
    return {.name = "validate",
            .summary = "every error of a run file at once",
            .details =
                "Reads a run file with the settings of the site and of the user under it, "
                "and prints every error: file and line, the rule, and the nearest valid "
                "value. Exit code 2 when there is one. Notes name what this version refuses "
                "at submit or ignores.",
            .example = "osora validate stage1.toml --set parallel.tp_size=4",
            .positionals = {run_file_positional()},
            .options = {set_option(), json_option()},
            .run = run_validate};
}

}  // namespace osora::cli
