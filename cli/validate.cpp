// osora validate: every error of a run file at once.
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/json_output.hpp"
#include "cli/run_file_command.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

int run(Context const& context, Arguments const& arguments) {
    auto const request = config_request(context, arguments);
    auto const resolved = plan::load_config(request);
    bool const ok = resolved.problems.empty();
    if (arguments.has("--json")) {
        print_json("validate", {{"ok", ok}, {"problems", problems_json(resolved.problems)}});
    } else if (ok) {
        fmt::print("{}: ok\n", request.run_file.string());
    } else {
        fmt::print("{}", problem_list(resolved.problems));
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
                "value. Exit code 2 when there is one.",
            .example = "osora validate stage1.toml --set parallel.tp_size=4",
            .positionals = {run_file_positional()},
            .options = {set_option(), json_option()},
            .run = run};
}

}  // namespace osora::cli
