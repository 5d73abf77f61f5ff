// osora plan: the plan of a run file on this machine, without running it.
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/plan_run.hpp"
#include "cli/plan_text.hpp"
#include "cli/run_file_command.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

constexpr int kTop = 3;

int print_problems(std::vector<plan::ConfigProblem> const& problems) {
    fmt::print(stderr, "{}", problem_list(problems));
    return kExitUsage;
}

int run(Context const& context, Arguments const& arguments) {
    auto const top = arguments.number("--top", 0, 1000);
    if (top.has_error()) return fail(kExitUsage, top.error().message);
    auto const resolved = plan::load_config(config_request(context, arguments));
    if (!resolved.problems.empty()) return print_problems(resolved.problems);
    topology::Cluster const cluster = local_cluster();
    auto const problems = plan_problems(resolved, cluster);
    if (!problems.empty()) return print_problems(problems);
    auto const file = arguments.value("--calibration");
    auto planned = plan_run(context, resolved, cluster,
                            file ? std::optional<std::filesystem::path>(*file) : std::nullopt);
    if (planned.has_error()) {
        auto const& error = planned.error();
        // A plan that does not fit is an answer, and a bad one.
        return fail(error.code == Errc::out_of_memory ? kExitBad : exit_code_for(error.code),
                    error.message);
    }
    if (!planned->warning.empty()) fmt::print(stderr, "osora: {}\n", planned->warning);
    if (arguments.has("--json")) {
        auto& alternatives = planned->decision.alternatives;
        if (*top && alternatives.size() > static_cast<std::size_t>(**top)) {
            alternatives.resize(static_cast<std::size_t>(**top));
        }
        fmt::print("{}\n", protocol::encode(planned->decision));
        return kExitOk;
    }
    fmt::print("{}", render_plan(planned->decision, planned->header));
    if (arguments.has("--explain") || *top) {
        fmt::print("{}", render_explanation(planned->decision, top->value_or(kTop)));
    }
    return kExitOk;
}

}  // namespace

CommandSpec plan_command() {
    return {.name = "plan",
            .summary = "what a run would do: layout, batches, expected time and memory",
            .details =
                "Chooses everything that the run file leaves to \"auto\" and says why, with "
                "the step time and the memory that it expects. Exit code 1 when nothing "
                "fits, 2 when the run file is wrong.",
            .example = "osora plan stage1.toml --explain --top 5",
            .positionals = {run_file_positional()},
            .options = {{.name = "--explain",
                         .value = "",
                         .help = "Also costs of each bucket, alternatives and rejections."},
                        {.name = "--top", .value = "K", .help = "How many alternatives; 3."},
                        {.name = "--calibration",
                         .value = "FILE",
                         .help = "Measured constants; else those of the state folder.",
                         .complete = Complete::file},
                        set_option(),
                        json_option("Print the plan as JSON (osora.plan/1).")},
            .run = run};
}

}  // namespace osora::cli
