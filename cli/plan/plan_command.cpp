// osora plan: the plan of a run file on this machine, without starting a run.
#include "base/files/files.hpp"
#include "base/text/printable.hpp"
#include "base/text/shell_word.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/plan/bad_hosts.hpp"
#include "cli/plan/plan_subject.hpp"
#include "cli/plan/plan_text.hpp"
#include "topology/nccl/srun_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace osora::cli {
namespace {

constexpr int kTop = 3;

int print_problems(std::vector<plan::ConfigProblem> const& problems) {
    cli::print(stderr, "{}", problem_list(problems));
    return kExitUsage;
}

int refuse_subject(Error const& error) {
    bool const input = error.code == Errc::invalid_input || error.code == Errc::not_found ||
                       error.code == Errc::io;
    return fail(input ? kExitUsage : exit_code_for(error.code), error);
}

/// The part of a plan that plain srun can apply (docs/rfc/003).
int write_srun_plan(plan::PlanDecision const& decision, int nodes, std::string const& file) {
    topology::SrunPlan plan;
    auto const& layout = decision.chosen;
    plan.tasks = layout.ranks();
    plan.tasks_per_node = plan.tasks / nodes;
    for (auto const& setting : decision.nccl_env) {  // variables of single nodes are in their
                                                     // profiles
        if (setting.nodes.empty()) plan.env[setting.name] = setting.value;
    }
    auto const text = topology::encode_srun_plan(plan);
    if (text.has_error()) return fail(kExitUsage, "--srun " + file + ": " + text.error().message);
    if (auto const written = write_file_atomic(file, *text); written.has_error()) {
        return fail(written.error());
    }
    cli::print("wrote {}: srun -N{} --ntasks-per-node={} --osora-plan={} PROGRAM\n", file, nodes,
               plan.tasks_per_node, shell_word(file));
    return kExitOk;
}

int run_plan(Context const& context, Arguments const& arguments) {
    auto const top = arguments.number("--top", 0, 1000);
    if (top.has_error()) return fail(kExitUsage, top.error());
    auto subject = plan_subject(context, arguments);
    if (subject.has_error()) return refuse_subject(subject.error());
    plan::ResolvedConfig const& resolved = subject->resolved;
    if (!resolved.problems.empty()) return print_problems(resolved.problems);
    // As submit does: the hosts decide which measured network the plan assumes.
    if (auto const note = place_bad_hosts(context, subject->resolved.config); !note.empty()) {
        cli::print(stderr, "note: {}\n", note);
    }
    auto const problems = plan_problems(resolved, subject->inputs.cluster);
    if (!problems.empty()) return print_problems(problems);
    if (auto const file = arguments.value("--calibration")) subject->inputs.calibration = *file;
    auto planned = plan_run(context, resolved, subject->inputs);
    if (planned.has_error()) {
        auto const& error = planned.error();
        // A plan that does not fit is a valid answer, with exit code 1.
        return fail(error.code == Errc::out_of_memory ? kExitBad : exit_code_for(error.code),
                    error);
    }
    if (!subject->machine.empty()) planned->header.machine = subject->machine;
    std::ranges::move(subject->taken, std::back_inserter(planned->decision.reasons));
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

std::vector<OptionSpec> plan_options() {
    return {{.name = "--model", .value = "MODEL", .help = "Plan this model without a run file."},
            {.name = "--gpus", .value = "N", .help = "With --model: GPUs in all."},
            {.name = "--topology",
             .value = "SOURCE",
             .help = "Nodes, GPUs and cards: a folder, a file or synthetic:....",
             .complete = Complete::file},
            {.name = "--topology-name",
             .value = "NAME",
             .help = "Which of several topologies of a topology.yaml."},
            {.name = "--gpu",
             .value = "NAME",
             .help = "Of these GPUs, as in h100-80g-sxm; wins over the topology's."},
            {.name = "--nodes",
             .value = "N",
             .help = "With --model: nodes; else as many as the GPUs take."},
            {.name = "--gpus-per-node",
             .value = "N",
             .help = "With --model: as the topology has them, else 8."},
            {.name = "--nic-gbit",
             .value = "G",
             .help = "Network of one GPU, Gbit/s; else of the topology's cards."},
            {.name = "--hardware",
             .value = "FILE",
             .help = "GPUs to add (TOML), as osora plan evaluate takes them.",
             .complete = Complete::file},
            {.name = "--bucket",
             .value = "RES:FRAMES",
             .help = "With --model: as in 360p:51, the default; once a bucket.",
             .repeated = true},
            {.name = "--resolution",
             .value = "RES",
             .help = "With --num-frames: the same in two options.",
             .repeated = true},
            {.name = "--num-frames",
             .value = "N",
             .help = "Frames of the --resolution before it.",
             .repeated = true},
            {.name = "--explain",
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
            json_option("Print the plan as JSON (osora.plan/1).")};
}

}  // namespace

CommandSpec plan_command() {
    return {.name = "plan",
            .summary = "what a run would do: layout, batches, expected time and memory",
            .details =
                "Chooses everything that the run file leaves to \"auto\" and says why, with "
                "the step time and the memory that it expects. Exit code 1 when nothing "
                "fits, 2 when the run file or an option is wrong.\n\n"
                "Without a run file: --model (stdit3-xl/2, stdit3-3b/2, stdit2-xl/2, mmdit-11b, "
                "...) on --gpus GPUs, with pp_size = \"auto\" too; no data set is needed. "
                "--topology names the cluster, as osora topology show reads it; its nodes, GPUs "
                "and cards are taken. --gpu names GPUs by a name of osora plan evaluate or of a "
                "driver, for a run file too: rates are then those of data sheets, and the plan "
                "says so. Without either the plan is for this machine.",
            .example =
                "osora plan stage1.toml --explain --top 5\n"
                "osora plan --model stdit3-xl/2 --topology cluster.json --gpus 64\n"
                "osora plan --model mmdit-11b --gpu h100-80g-sxm --gpus 128 --nic-gbit 400 \\\n"
                "  --bucket 360p:51 --bucket 720p:1 --set batch.max=2048",
            .positionals = {run_file_positional(false)},
            .options = plan_options(),
            .run = run_plan};
}

}  // namespace osora::cli
