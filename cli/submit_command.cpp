// osora submit: validate, plan, make the run directory, start its controller, follow it.
#include "base/host_name.hpp"
#include "base/text/printable.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/plan/tune_memory.hpp"
#include "cli/run/launch.hpp"
#include "cli/run/prepared_run.hpp"
#include "cli/run/run_command.hpp"
#include "cli/run/slurm/submit_slurm.hpp"
#include "cli/trial/regression_notice.hpp"
#include "slurm/after_sbatch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace osora::cli {
namespace {

/// The run file to submit: RUN.toml, or that of an earlier run.
Result<plan::ConfigRequest> submit_request(Context const& context, Arguments const& arguments) {
    auto request = config_request(context, arguments);
    if (auto const backend = arguments.value("--backend")) {
        request.sets.push_back("resources.backend=" + *backend);
    }
    auto const from = arguments.value("--from");
    if (from.has_value() == arguments.has("RUN.toml")) {
        return Error{Errc::invalid_input,
                     from ? "submit: RUN.toml and --from: give one of the two"
                          : "submit: RUN.toml is missing (osora submit --help)"};
    }
    if (!from) return request;
    OSORA_TRY(auto const state, state_dir(context.environment));
    OSORA_TRY(auto const run, find_run(state, *from, trust_of(arguments)));
    OSORA_TRY(auto const record, plan::read_submission(run.paths));
    request.run_file = run.paths.run_file();
    request.base_dir = record.base_dir;
    // The run file is what counts: without the note, a run of another version is submitted as well.
    auto const submitted = plan::submitted_run(record);
    if (submitted.has_error()) return request;
    if (auto const sets = sets_of(*submitted); !sets.empty()) {
        cli::print(stderr, "note: run {} was also given --set {}\n", run.number,
                   fmt::join(sets, " --set "));
    }
    return request;
}

/// The run of --after: none when it was not given.
Result<Predecessor> predecessor_for(Context const& context, Arguments const& arguments,
                                    plan::RunConfig const& config) {
    auto const wanted = arguments.value("--after");
    if (!wanted) return Predecessor{};
    if (!is_queued(context, config)) {
        return Error{
            Errc::invalid_input,
            "--after: only runs that are queued on Slurm can wait; elsewhere: osora submit "
            "FIRST.toml && osora submit NEXT.toml"};
    }
    OSORA_TRY(auto const state, state_dir(context.environment));
    OSORA_TRY(auto after, find_predecessor(state, *wanted));
    std::string const asked_for = slurm::cluster_asked_for(config.slurm.extra);
    bool const elsewhere = slurm::is_one_cluster(asked_for) && asked_for != after.cluster;
    if (after.job == 0 || after.cluster.empty() || !elsewhere) return after;
    return Error{Errc::invalid_input,
                 fmt::format("--after {}: its job {} is on cluster {}, and [slurm] extra asks for "
                             "cluster {}; a job waits only for jobs of its own cluster",
                             *wanted, after.job, after.cluster, asked_for)};
}

void print_dry_run(Context const& context, PreparedRun const& prepared, Predecessor const& after) {
    auto const& config = prepared.submission.resolved.config;
    if (is_queued(context, config)) return print_job_dry_run(context, config, after);
    int const ranks = config.resources.gpus_per_node;
    int const threads = prepared.planned.decision.chosen.threads_per_rank;
    cli::print("ranks    {} on {}{}\n", ranks == 1 ? "0" : fmt::format("0-{}", ranks - 1),
               host_name(),
               config.run.job == "exec"
                   ? std::string()
                   : fmt::format(", {} thread{} each", threads, threads == 1 ? "" : "s"));
    cli::print("start    {} --one-run RUN_DIR\n", (context.program_dir / "osorad").string());
    if (config.run.job == "exec") {
        cli::print("         {} (RANK=0..{})\n", fmt::join(config.worker.command, " "), ranks - 1);
    } else {
        auto const worker = worker_program(context);
        cli::print("         {} --job RUN_DIR/job.json (RANK=0..{})\n",
                   worker.has_value() ? worker->string() : worker.error().message, ranks - 1);
    }
    cli::print("dry run: nothing was started\n");
}

int run_submit(Context const& context, Arguments const& arguments) {
    bool const json = arguments.has("--json");
    auto const request = submit_request(context, arguments);
    if (request.has_error()) return fail(kExitUsage, request.error());
    auto prepared = prepare_run(context, *request, json);
    if (prepared.has_error()) return prepared.error();
    auto const& config = prepared->submission.resolved.config;
    if (auto hint = tuning_hint(context, config); !hint.empty()) {
        prepared->notes.push_back(std::move(hint));
    }
    print_notes(*prepared);
    auto const after = predecessor_for(context, arguments, config);
    if (after.has_error()) return fail(kExitUsage, after.error());
    if (!arguments.has("--dry-run")) {
        StartOptions const options{
            .json = json, .attached = !arguments.has("--detach"), .after = *after};
        auto const resolved = config;  // moved: start_run() owns the run
        auto const started = start_run(context, std::move(*prepared), options);
        bool const ended_well = started.exit_code == kExitOk && options.attached;
        if (ended_well && !json) follow_up(context, started.folder, resolved, *request);
        return started.exit_code;
    }
    if (json) {
        cli::print("{}\n", printable_json(protocol::encode(prepared->planned.decision)));
        return kExitOk;
    }
    cli::print("{}", render_plan(prepared->planned.decision, prepared->planned.header));
    print_dry_run(context, *prepared, *after);
    return kExitOk;
}

}  // namespace

CommandSpec submit_command() {
    return {
        .name = "submit",
        .summary = "validate, plan, launch and follow a run",
        .details =
            "Checks the run file, plans layout and batch, starts the workers and follows them "
            "to the end. Ctrl-C stops the run after its step, with a checkpoint; a second one "
            "stops it now. The run also stops when this osora exits, unless it was detached. A run "
            "of the daemon (osora daemon start) continues in both cases; osora "
            "cancel stops it.\n\n"
            "With resources.backend = \"slurm\" the run becomes a job: --dry-run prints its "
            "script. It continues when this osora exits, and Ctrl-C takes it out of the "
            "queue while it waits. Inside a job (salloc, sbatch) the run starts on that job's "
            "nodes at once. With \"ssh\" it runs on the hosts of [ssh], which must see the run "
            "directory and accept your key without prompting.\n\n"
            "If the run was slower than earlier ones, osora says so at the end, with the commands "
            "that confirm it and find out why; with bisect.auto = \"run\" they are run.\n\n"
            "The exit code is that of the run: 0 ok, 1 failed, 130 stopped.",
        .example =
            "osora submit stage1.toml\n"
            "osora submit stage1.toml --set train.steps=50 --dry-run\n"
            "osora submit stage1.toml --detach",
        .positionals = {run_file_positional(false)},
        .options = {set_option(),
                    {.name = "--dry-run",
                     .value = "",
                     .help = "Print the plan and what would be started; start nothing."},
                    {.name = "--detach",
                     .value = "",
                     .help = "Return at once; the run continues without this terminal."},
                    {.name = "--from",
                     .value = "RUN",
                     .help = "Submit the run file of an earlier run again.",
                     .complete = Complete::run},
                    trust_option(),
                    {.name = "--after",
                     .value = "RUN",
                     .help = "Slurm: start when that run has ended well; if it fails, do not.",
                     .complete = Complete::run},
                    {.name = "--backend",
                     .value = "NAME",
                     .help = "Short for --set resources.backend=NAME.",
                     .choices = "local|ssh|slurm"},
                    json_option("Print JSON lines: plan, events, progress, end.")},
        .run = run_submit};
}

}  // namespace osora::cli
