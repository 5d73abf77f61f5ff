// osora plan: the plan of a run file on this machine, without running it.
#include "base/files.hpp"
#include "base/printable.hpp"
#include "base/shell_word.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/plan_run.hpp"
#include "cli/plan_text.hpp"
#include "cli/print.hpp"
#include "cli/run_file_command.hpp"
#include "topology/srun_files.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

constexpr int kTop = 3;

int print_problems(std::vector<plan::ConfigProblem> const& problems) {
    cli::print(stderr, "{}", problem_list(problems));
    return kExitUsage;
}

/// The part of a plan that a plain srun can follow (docs/rfc/003).
int write_srun_plan(plan::PlanDecision const& decision, int nodes, std::string const& file) {
    topology::SrunPlan plan;
    auto const& layout = decision.chosen;
    plan.tasks = layout.ranks();
    plan.tasks_per_node = plan.tasks / nodes;
    for (auto const& setting : decision.nccl_env) {  // those of one node are in its profile
        if (setting.nodes.empty()) plan.env[setting.name] = setting.value;
    }
    auto const text = topology::encode_srun_plan(plan);
    if (text.has_error()) return fail(kExitUsage, "--srun " + file + ": " + text.error().message);
    if (auto const written = write_file_atomic(file, *text); written.has_error()) {
        return fail(exit_code_for(written.error().code), written.error().message);
    }
    cli::print("wrote {}: srun -N{} --ntasks-per-node={} --osora-plan={} PROGRAM\n", file, nodes,
               plan.tasks_per_node, shell_word(file));
    return kExitOk;
}

int run_plan(Context const& context, Arguments const& arguments) {
    auto const top = arguments.number("--top", 0, 1000);
    if (top.has_error()) return fail(kExitUsage, top.error().message);
    auto const resolved = plan::load_config(config_request(context, arguments));
    if (!resolved.problems.empty()) return print_problems(resolved.problems);
    topology::Cluster const cluster = local_cluster(context);
    auto const problems = plan_problems(resolved, cluster);
    if (!problems.empty()) return print_problems(problems);
    auto const file = arguments.value("--calibration");
    PlanInputs inputs{
        .cluster = cluster, .base_dir = plan::base_dir_of(resolved.run_file), .calibration = {}};
    if (file) inputs.calibration = *file;
    auto planned = plan_run(context, resolved, inputs);
    if (planned.has_error()) {
        auto const& error = planned.error();
        // A plan that does not fit is an answer, and a bad one.
        return fail(error.code == Errc::out_of_memory ? kExitBad : exit_code_for(error.code),
                    error.message);
    }
    if (!planned->warning.empty()) cli::print(stderr, "osora: {}\n", planned->warning);
    if (auto const srun = arguments.value("--srun")) {
        return write_srun_plan(planned->decision, resolved.config.resources.nodes,
                               std::string(*srun));
    }
    if (arguments.has("--json")) {
        auto& alternatives = planned->decision.alternatives;
        if (*top && alternatives.size() > static_cast<std::size_t>(**top)) {
            alternatives.resize(static_cast<std::size_t>(**top));
        }
        cli::print("{}\n", printable_json(protocol::encode(planned->decision)));
        return kExitOk;
    }
    cli::print("{}", render_plan(planned->decision, planned->header));
    if (arguments.has("--explain") || *top) {
        cli::print("{}", render_explanation(planned->decision, top->value_or(kTop)));
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
                        {.name = "--srun",
                         .value = "FILE",
                         .help = "Write what osora's plug-in in Slurm takes: srun --osora-plan.",
                         .complete = Complete::file},
                        set_option(),
                        json_option("Print the plan as JSON (osora.plan/1).")},
            .run = run_plan};
}

}  // namespace osora::cli
