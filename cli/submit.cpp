// osora submit: validate, plan, make the run directory, start its controller, follow it.
#include "base/files.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/facts.hpp"
#include "cli/follow.hpp"
#include "cli/json_output.hpp"
#include "cli/launch.hpp"
#include "cli/plan_run.hpp"
#include "cli/run_command.hpp"
#include "cli/run_file_command.hpp"
#include "cli/started.hpp"
#include "cli/submission.hpp"
#include "cli/submit_slurm.hpp"
#include "plan/config/cross_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace osora::cli {
namespace {

struct Prepared {
    Submission submission;
    PlannedRun planned;
    Predecessor after;
};

/// The run file to submit: RUN.toml, or that of an earlier run.
Result<plan::ConfigRequest> request_for(Context const& context, Arguments const& arguments) {
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
    OSORA_TRY(auto const run, find_run(state, *from));
    OSORA_TRY(auto const submitted, read_submission(run));
    request.run_file = run.paths.run_file();
    request.base_dir = submitted.base_dir;
    if (auto const sets = sets_of(submitted); !sets.empty()) {
        fmt::print(stderr, "note: run {} was also given --set {}\n", run.number,
                   fmt::join(sets, " --set "));
    }
    return request;
}

/// --after: none when it was not given.
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
    return find_predecessor(state, *wanted);
}

int refuse(std::vector<plan::ConfigProblem> const& problems, bool json) {
    if (json) {
        print_json("validate", {{"ok", false}, {"problems", problems_json(problems)}});
    } else {
        fmt::print(stderr, "{}", problem_list(problems));
    }
    return kExitUsage;
}

void print_dry_run(Context const& context, Prepared const& prepared) {
    auto const& config = prepared.submission.resolved.config;
    if (is_queued(context, config)) return print_job_dry_run(context, config, prepared.after);
    int const ranks = config.resources.gpus_per_node;
    int const threads = prepared.planned.decision.chosen.threads_per_rank;
    fmt::print("ranks    {} on {}{}\n", ranks == 1 ? "0" : fmt::format("0-{}", ranks - 1),
               host_name(),
               config.run.job == "exec"
                   ? std::string()
                   : fmt::format(", {} thread{} each", threads, threads == 1 ? "" : "s"));
    fmt::print("start    {} --one-run RUN_DIR\n", (context.program_dir / "osorad").string());
    if (config.run.job == "exec") {
        fmt::print("         {} (RANK=0..{})\n", fmt::join(config.worker.command, " "), ranks - 1);
    } else {
        auto const worker = worker_program(context);
        fmt::print("         {} --job RUN_DIR/job.json (RANK=0..{})\n",
                   worker.has_value() ? worker->string() : worker.error().message, ranks - 1);
    }
    fmt::print("dry run: nothing was started\n");
}

/// The run file's text, its problems, its plan; on failure the exit code of what was printed.
boost::system::result<Prepared, int> prepare(Context const& context, Arguments const& arguments) {
    bool const json = arguments.has("--json");
    auto const request = request_for(context, arguments);
    if (request.has_error()) return fail(kExitUsage, request.error().message);
    Prepared prepared;
    Submission& submission = prepared.submission;
    submission.resolved = plan::load_config(*request);
    if (!submission.resolved.problems.empty()) return refuse(submission.resolved.problems, json);
    auto const cluster = local_cluster(context);
    auto const problems = plan_problems(submission.resolved, cluster);
    if (!problems.empty()) return refuse(problems, json);
    auto after = predecessor_for(context, arguments, submission.resolved.config);
    if (after.has_error()) return fail(kExitUsage, after.error().message);
    prepared.after = std::move(*after);
    for (auto const& note : plan::without_effect(submission.resolved)) {
        fmt::print(stderr, "note: {}\n", plan::to_text(note));
    }
    submission.base_dir =
        request->base_dir.empty() ? plan::base_dir_of(request->run_file) : request->base_dir;
    PlanInputs const inputs{.cluster = cluster, .base_dir = submission.base_dir, .calibration = {}};
    auto planned = plan_run(context, submission.resolved, inputs);
    if (planned.has_error()) {
        auto const& error = planned.error();
        return fail(error.code == Errc::out_of_memory ? kExitBad : exit_code_for(error.code),
                    error.message);
    }
    if (!planned->warning.empty()) fmt::print(stderr, "note: {}\n", planned->warning);
    prepared.planned = std::move(*planned);
    auto text = read_file(request->run_file, static_cast<std::int64_t>(plan::kRunFileBytesMax));
    if (text.has_error()) return fail(kExitUsage, text.error().message);
    submission.run_file_text = std::move(*text);
    submission.plan = prepared.planned.decision;
    submission.attached = !arguments.has("--detach");
    submission.user = variable_or(context.environment, "USER", std::to_string(::geteuid()));
    submission.host = host_name();
    return prepared;
}

int start(Context const& context, Arguments const& arguments, Prepared prepared) {
    bool const json = arguments.has("--json");
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error().message);
    // Before anything is made: a run that cannot start leaves nothing behind.
    auto const controller = controller_program(context);
    if (controller.has_error()) return fail(kExitUsage, controller.error().message);
    Environment environment = context.environment;
    for (auto const& [name, value] : prepared.submission.resolved.config.worker.env) {
        set_variable(environment, name, value);
    }
    if (auto const fits = check_size(environment); fits.has_error()) {
        return fail(kExitUsage, fits.error().message);
    }
    auto const worker = worker_program(context);
    bool const exec = prepared.submission.resolved.config.run.job == "exec";
    if (worker.has_error() && !exec) return fail(kExitUsage, worker.error().message);
    prepared.submission.facts = submission_facts(
        context.environment, worker.has_value() ? *worker : std::filesystem::path());
    auto const run = create_run(*state, prepared.submission);
    if (run.has_error()) return fail(kExitBad, run.error().message);
    prepared.planned.header.run = run->name;
    if (json) {
        fmt::print("{}\n", protocol::encode(prepared.planned.decision));
    } else {
        fmt::print("{}\n", render_plan(prepared.planned.decision, prepared.planned.header));
        std::fflush(stdout);
    }
    StartOptions const options{
        .json = json, .attached = prepared.submission.attached, .after = prepared.after};
    auto const& config = prepared.submission.resolved.config;
    if (is_queued(context, config)) return queue_and_follow(context, *run, config, options);
    return start_and_follow(context, *run, options);
}

int run(Context const& context, Arguments const& arguments) {
    auto prepared = prepare(context, arguments);
    if (prepared.has_error()) return prepared.error();
    if (!arguments.has("--dry-run")) return start(context, arguments, std::move(*prepared));
    if (arguments.has("--json")) {
        fmt::print("{}\n", protocol::encode(prepared->planned.decision));
        return kExitOk;
    }
    fmt::print("{}", render_plan(prepared->planned.decision, prepared->planned.header));
    print_dry_run(context, *prepared);
    return kExitOk;
}

}  // namespace

CommandSpec submit_command() {
    return {.name = "submit",
            .summary = "validate, plan, launch and follow a run",
            .details =
                "Checks the run file, plans layout and batch, starts the workers and follows them "
                "to the end. Ctrl-C stops the run after its step, with a checkpoint; a second one "
                "stops it now. The run also stops when this osora goes away, unless it was "
                "detached. A run of the daemon (osora daemon start) goes on in both cases; osora "
                "cancel stops it.\n\n"
                "With resources.backend = \"slurm\" the run becomes a job: --dry-run prints its "
                "script. It goes on when this osora goes away, and Ctrl-C takes it out of the "
                "queue while it waits. Inside a job (salloc, sbatch) the run starts on that job's "
                "nodes at once. With \"ssh\" it runs on the hosts of [ssh], which must see the run "
                "directory and take a key of yours without a question.\n\n"
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
                         .help = "Return at once; the run goes on without this terminal."},
                        {.name = "--from",
                         .value = "RUN",
                         .help = "Submit the run file of an earlier run again.",
                         .complete = Complete::run},
                        {.name = "--after",
                         .value = "RUN",
                         .help = "Slurm: start when that run has ended well; if it fails, do not.",
                         .complete = Complete::run},
                        {.name = "--backend",
                         .value = "NAME",
                         .help = "Short for --set resources.backend=NAME.",
                         .choices = "local|ssh|slurm"},
                        json_option("Print JSON lines: plan, events, progress, end.")},
            .run = run};
}

}  // namespace osora::cli
