// osora bisect: trials between a good and a bad run, until what made it slow is named and proved.
#include "base/units.hpp"
#include "cli/bisect_scaling.hpp"
#include "cli/bisect_text.hpp"
#include "cli/bisect_trials.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/history_access.hpp"
#include "cli/json_output.hpp"
#include "cli/last_good_run.hpp"
#include "cli/run_file_command.hpp"
#include "db/queries.hpp"
#include "plan/config/candidate_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::cli {
namespace {

using namespace db::analysis;

constexpr int kSteps = 25, kStepsMin = 5, kStepsMax = 100'000;
constexpr int kTrialsMax = 1000;
/// Start and end of a trial, before one has been timed.
constexpr double kStartGuess_s = 10;

/// Hosts that trials may run on: those of this allocation, or of [ssh]. Empty: not known.
std::vector<std::string> available_hosts(Context const& context, BisectSide const& bad) {
    auto config = protocol::from_json<plan::RunConfig>(bad.config);
    if (config.has_error()) return {};
    config->faults.exclude_nodes.clear();
    constexpr int kAny = 1 << 20;
    config->resources.nodes = kAny;
    return plan::candidate_hosts(*config, context.environment);
}

std::string first_rung(Bisection const& bisection, bool real) {
    auto const& good = bisection.good.run.summary.run.job;
    auto const& bad = bisection.bad.run.summary.run.job;
    bool const can_rehearse = (good == "train" || good == "rehearse") && good == bad;
    return can_rehearse && !real ? "rehearsal" : "run";
}

Result<BisectOptions> options_of(Arguments const& arguments, plan::RunConfig const& config) {
    BisectOptions options;
    OSORA_TRY(auto const trials, arguments.number("--trials", 7, kTrialsMax));
    options.trials_max = trials.value_or(options.trials_max);
    constexpr double kSecondsPerHour = 3600;
    options.budget_gpu_s = config.bisect.budget_gpu_h * kSecondsPerHour;
    OSORA_TRY(auto const budget, arguments.number("--budget-gpu-h", 1, 1'000'000));
    if (budget) options.budget_gpu_s = *budget * kSecondsPerHour;
    return options;
}

/// The two runs that the command line names, and what a search between them would be.
Result<Bisection> bisection_of(Context const& context, Arguments const& arguments,
                               db::Store& store) {
    Bisection bisection;
    auto const first = arguments.value("GOOD"), second = arguments.value("BAD");
    OSORA_TRY(bisection.bad, load_side(store, second ? *second : *first));
    std::string good = *first;
    if (!second) {
        OSORA_TRY(good, last_good_run(store, bisection.bad.run));
    }
    OSORA_TRY(bisection.good, load_side(store, good));
    auto& plan = bisection.plan;
    plan.good = bisection.good.run.summary.run.number;
    plan.bad = bisection.bad.run.summary.run.number;
    plan.good_s = bisection.good.step_s();
    plan.bad_s = bisection.bad.step_s();
    OSORA_TRY(auto const config, protocol::from_json<plan::RunConfig>(bisection.bad.config));
    OSORA_TRY(bisection.options, options_of(arguments, config));
    OSORA_TRY(auto const steps, arguments.number("--steps", kStepsMin, kStepsMax));
    plan.steps = steps.value_or(kSteps);
    bisection.available = available_hosts(context, bisection.bad);
    plan.atoms = triable_atoms(bisection.good, bisection.bad, bisection.available);
    plan.expected = expected_trials(plan.atoms.atoms, bisection.options);
    plan.nodes = bisection.bad.run.summary.run.nodes;
    plan.ranks = bisection.bad.run.summary.run.ranks;
    plan.gpu = bisection.bad.run.summary.device.starts_with("cuda");
    plan.trial_s = kStartGuess_s + plan.steps * (plan.good_s + plan.bad_s) / 2;
    plan.budget_gpu_h = bisection.options.budget_gpu_s / 3600;
    plan.rung = first_rung(bisection, arguments.has("--real"));
    bisection.layers = config_request(context, arguments);
    bisection.layers.run_file.clear();
    bisection.series = bisection.bad.run.summary.run.series + "-bisect";
    bisection.anew = arguments.has("--anew");
    bisection.json = arguments.has("--json");
    if (bisection.json) bisection.progress = stderr;
    return bisection;
}

struct Answer {
    BisectResult result;
    std::string log_id;
    bool interrupted = false, too_low = false;
    std::string failure;  // of the last trial that did not run
};

Result<Answer> search(Context const& context, Bisection const& bisection, std::string const& rung) {
    BisectQuestion question{.good = bisection.good.run.summary.run.uuid,
                            .bad = bisection.bad.run.summary.run.uuid,
                            .rung = rung,
                            .steps = bisection.plan.steps,
                            .atoms = {}};
    for (auto const& atom : bisection.plan.atoms.atoms) question.atoms.push_back(atom.name);
    OSORA_TRY(auto log, BisectLog::open(bisection.state, question, bisection.anew));
    auto const known = log.trials().size();
    fmt::print(bisection.progress, "\nrung: {} of {} steps{}\n{}", rung, bisection.plan.steps,
               known > 0 ? fmt::format("; {} trials are known (log {})", known, log.id()) : "",
               bisect_trial_head());
    Trials trials(context, bisection, std::move(log), rung);
    OSORA_TRY(auto result, bisect(
                               bisection.plan.atoms.atoms, bisection.options,
                               [&](Trial const& trial) { return trials.measure(trial); },
                               [&](TrialRecord const& record) { trials.note(record); }));
    if (!trials.interrupted()) trials.end(result);
    return Answer{.result = std::move(result),
                  .log_id = trials.id(),
                  .interrupted = trials.interrupted(),
                  .too_low = trials.was_too_low(),
                  .failure = trials.failure()};
}

int show(Bisection const& bisection, Answer const& answer) {
    if (bisection.json) {
        print_json("bisect", bisect_json(bisection.plan, answer.result, answer.log_id));
    } else {
        fmt::print("\n{}", bisect_answer_text(bisection.plan, answer.result, answer.log_id));
        if (!answer.failure.empty()) fmt::print("a trial failed: {}\n", answer.failure);
    }
    if (answer.interrupted) return kExitInterrupted;
    return answer.result.verdict == BisectVerdict::proved ? kExitOk : kExitUndecided;
}

/// The history says so; no trial is needed.
Answer no_slower(BisectPlan const& plan) {
    Answer answer;
    answer.result.verdict = BisectVerdict::not_reproducible;
    answer.result.good_s = plan.good_s;
    answer.result.bad_s = plan.bad_s;
    answer.result.reasons.push_back(
        fmt::format("run {} was no slower than run {} in the first place; osora diff {} {} shows "
                    "what differs",
                    plan.bad, plan.good, plan.good, plan.bad));
    return answer;
}

int climb(Context const& context, Bisection const& bisection) {
    std::string rung = bisection.plan.rung;
    while (true) {
        auto const answer = search(context, bisection, rung);
        if (answer.has_error()) {
            return fail(exit_code_for(answer.error().code), answer.error().message);
        }
        bool const gap_missing =
            answer->too_low || answer->result.verdict == BisectVerdict::not_reproducible;
        bool const trains = bisection.bad.run.summary.run.job == "train";
        if (answer->interrupted || !gap_missing || rung != "rehearsal" || !trains) {
            return show(bisection, *answer);
        }
        fmt::print(bisection.progress,
                   "rehearsals do not show the gap: it is in the ranks' own work\n");
        rung = "run";
    }
}

int run(Context const& context, Arguments const& arguments) {
    if (arguments.value("--scaling")) {
        if (!arguments.value("GOOD")) return bisect_scaling(context, arguments);
        return fail(kExitUsage, "name runs, or a series with --scaling");
    }
    if (!arguments.value("GOOD")) {
        return fail(kExitUsage, "name two runs, or the slow one, or a series with --scaling");
    }
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error().message);
    auto bisection = [&]() -> Result<Bisection> {
        OSORA_TRY(auto const history, open_history(*state));
        for (auto const& warning : history.warnings) fmt::print(stderr, "osora: {}\n", warning);
        return bisection_of(context, arguments, *history.store);
    }();
    if (bisection.has_error()) {
        return fail(exit_code_for(bisection.error().code), bisection.error().message);
    }
    bisection->state = *state;
    auto const& plan = bisection->plan;
    if (plan.bad_s <= plan.good_s * (1 + bisection->options.min_effect)) {
        return show(*bisection, no_slower(plan));
    }
    fmt::print(bisection->progress, "{}", bisect_plan_text(plan));
    if (plan.atoms.atoms.empty()) {
        if (bisection->json) print_json("bisect", bisect_json(plan, {}, ""));
        return fail(kExitUndecided,
                    "nothing differs that a trial could switch; try: osora doctor, osora probe, "
                    "osora bisect --scaling SERIES");
    }
    if (arguments.has("--dry-run")) {
        fmt::print(bisection->progress, "rung: {} of {} steps\n\n{}", plan.rung, plan.steps,
                   bisect_factor_text(plan));
        if (bisection->json) print_json("bisect", bisect_json(plan, {}, ""));
        return kExitOk;
    }
    return climb(context, *bisection);
}

}  // namespace

CommandSpec bisect_command() {
    return {
        .name = "bisect",
        .summary = "find and prove what made a run slow",
        .details =
            "Takes the items that differ between a good and a bad run (settings, variables, "
            "nodes) and runs short trials with some of them as in the one and some as in the "
            "other, until the ones that make the step slow are found; ends with a proof in "
            "interleaved blocks. Trials are rehearsals where these show the gap, else short "
            "training runs. With one run, the good one is the last of its series before it that "
            "was fast. Start it inside an allocation (salloc) so that trials do not queue. The "
            "same command goes on where it was stopped. Exit code 0: a cause is proved; 3: it is "
            "not.",
        .example =
            "osora bisect 41 42\nosora bisect 41 42 --dry-run\n"
            "salloc -N16 osora bisect 42",
        .positionals = {{.name = "GOOD",
                         .help = "The fast run; alone: the slow one.",
                         .complete = Complete::run,
                         .required = false},
                        {.name = "BAD",
                         .help = "The slow run.",
                         .complete = Complete::run,
                         .required = false}},
        .options = {{.name = "--scaling",
                     .value = "SERIES",
                     .help = "Where its newest run stops to scale over the nodes, and why.",
                     .complete = Complete::run},
                    {.name = "--nodes", .value = "N", .help = "--scaling: up to N nodes."},
                    {.name = "--strong",
                     .value = "",
                     .help = "--scaling: keep the global batch, not the batch of a rank."},
                    {.name = "--dry-run",
                     .value = "",
                     .help = "Show what differs and what a search would cost, and run nothing."},
                    {.name = "--real", .value = "", .help = "Train in each trial."},
                    {.name = "--steps", .value = "N", .help = "Steps of a trial (25)."},
                    {.name = "--trials", .value = "N", .help = "At most so many (120)."},
                    {.name = "--budget-gpu-h",
                     .value = "N",
                     .help = "At most so many GPU-hours (bisect.budget_gpu_h)."},
                    {.name = "--anew", .value = "", .help = "Measure again what is known."},
                    json_option("Print one JSON object at the end; progress goes to stderr.")},
        .run = run};
}

}  // namespace osora::cli
