// osora rehearse: runs a run's collectives with its sizes, order and overlap, without its model.
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/run/prepared_run.hpp"
#include "cli/run/run_measured.hpp"
#include "cli/trial/rehearsal_result.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

constexpr int kRehearsalSteps = 25;  // a fifth is warm-up
constexpr int kStepsMax = 100'000;
constexpr int kRehearsedNodesMax = 65'536;

/// The run file's settings, as a rehearsal in a separate series.
Result<plan::ConfigRequest> rehearsal_request(Context const& context, Arguments const& arguments) {
    auto request = config_request(context, arguments);
    OSORA_TRY(auto const steps, arguments.number("--steps", 1, kStepsMax));
    OSORA_TRY(auto const nodes, arguments.number("--nodes", 1, kRehearsedNodesMax));
    // Problems are found again, and reported, with the settings of the rehearsal.
    auto const resolved = plan::load_config(request);
    auto const& job = resolved.config.run.job;
    if (job != "train" && job != "rehearse" && resolved.problems.empty()) {
        return Error{Errc::invalid_input,
                     fmt::format("run.job = \"{}\": only training runs have collectives that osora "
                                 "knows; valid: train, rehearse",
                                 job)};
    }
    // Keys of training that a rehearsal has no use for.
    for (char const* const set :
         {"run.job=rehearse", "train.self_check=false", "tune.progressive=false"})
        request.sets.emplace_back(set);
    request.sets.push_back("run.name=" + rehearsal_series(resolved.config.run.name));
    request.sets.push_back(fmt::format("train.steps={}", steps.value_or(kRehearsalSteps)));
    if (nodes) request.sets.push_back(fmt::format("resources.nodes={}", *nodes));
    if (auto const backend = arguments.value("--backend")) {
        request.sets.push_back("resources.backend=" + *backend);
    }
    return request;
}

int run_rehearse(Context const& context, Arguments const& arguments) {
    bool const json = arguments.has("--json");
    auto const request = rehearsal_request(context, arguments);
    if (request.has_error()) return fail(kExitUsage, request.error());
    auto prepared = prepare_run(context, *request, json);
    if (prepared.has_error()) return prepared.error();
    print_notes(*prepared);
    RehearsalResult result{
        .report = {}, .compute = prepared->submission.rehearsal, .trained = prepared->trained};
    // With --json the run's progress goes to stderr, so that stdout is one object.
    StartOptions options;
    options.stream = json ? stderr : stdout;
    auto const started = start_run(context, std::move(*prepared), options);
    if (started.exit_code != kExitOk) return started.exit_code;
    auto report = report_of(context, started.folder);
    if (report.has_error()) {
        return fail(report.error());
    }
    result.report = std::move(*report);
    if (json) {
        cli::print("{}", rehearsal_json(result));
    } else {
        cli::print("\n{}", rehearsal_text(result));
    }
    return result.report.measured.steps_used > 0 ? kExitOk : kExitUndecided;
}

}  // namespace

CommandSpec rehearse_command() {
    return {
        .name = "rehearse",
        .summary = "the run's collectives at its sizes, without the model",
        .details =
            "Starts the run's ranks where submit would, on as many nodes as --nodes says, and "
            "lets them exchange gradients, weights, tokens and layers' inputs of the model's sizes "
            "in the trainer's order and overlap: the network runs with tensors that have sizes and "
            "no values. The rank's own work is a busy loop on CPUs and a sleep on GPUs; it takes "
            "as long as rehearse.compute_s says, else as in the newest finished training run "
            "of the same work, else as the plan expects. debug.collectives, [parallel], "
            "memory.recompute, optim.precision, lora_rank and freeze count as in training; "
            "rehearse.data_wait_s delays the reader.\n\n"
            "Runs are called NAME-rehearsal-NUMBER: a separate series in history and "
            "reports.",
        .example =
            "osora rehearse stage1.toml --nodes 16\n"
            "osora rehearse stage1.toml --set debug.collectives=per_parameter\n"
            "osora rehearse stage1.toml --set rehearse.compute_s=6.6 --json",
        .positionals = {run_file_positional()},
        .options = {{.name = "--nodes", .value = "N", .help = "Short for --set resources.nodes=N."},
                    {.name = "--steps",
                     .value = "N",
                     .help = "Steps to rehearse (25; the first fifth is warm-up)."},
                    set_option(),
                    {.name = "--backend",
                     .value = "NAME",
                     .help = "Short for --set resources.backend=NAME.",
                     .choices = "local|ssh|slurm"},
                    json_option("Print one JSON object at the end; progress goes to stderr.")},
        .run = run_rehearse};
}

}  // namespace osora::cli
