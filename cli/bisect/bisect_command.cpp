// osora bisect: runs trials between a good and a bad run until the cause of the slowdown is named
// and proved.
#include "base/text/units.hpp"
#include "cli/bisect/bisect_scaling.hpp"
#include "cli/bisect/bisect_search.hpp"
#include "cli/bisect/bisect_text.hpp"
#include "cli/bisect/history_sigma.hpp"
#include "cli/bisect/last_good_run.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/history_access.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/run/run_command.hpp"
#include "db/analysis/report/prediction_report.hpp"
#include "db/store/queries.hpp"
#include "plan/config/candidate_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::cli {
namespace {

using namespace db::analysis;

constexpr int kBisectSteps = 25, kBisectStepsMin = 5, kBisectStepsMax = 100'000;
constexpr int kBisectTrialsMax = 1000;
/// Start and end of a trial, before one has been timed.
constexpr double kBisectStartGuess_s = 10;

/// Hosts that trials may run on: those of this allocation, or of [ssh]. Empty: not known.
std::vector<std::string> available_hosts(Context const& context, BisectSide const& bad) {
    auto config = bad.config;
    config.faults.exclude_nodes.clear();
    constexpr int kAny = 1 << 20;
    config.resources.nodes = kAny;
    return plan::candidate_hosts(config, context.environment);
}

std::string first_level(Bisection const& bisection, bool real) {
    auto const& good = bisection.good.run.summary.run.job;
    auto const& bad = bisection.bad.run.summary.run.job;
    bool const can_rehearse = (good == "train" || good == "rehearse") && good == bad;
    return can_rehearse && !real ? "rehearsal" : "run";
}

Result<BisectOptions> options_of(Arguments const& arguments, plan::RunConfig const& config) {
    BisectOptions options;
    OSORA_TRY(auto const trials, arguments.number("--trials", 7, kBisectTrialsMax));
    options.trials_max = trials.value_or(options.trials_max);
    options.budget_gpu_s = config.bisect.budget_gpu_h * kSecondsPerHour;
    constexpr double kBudgetMin_h = 1e-5, kBudgetMax_h = 1e6;
    OSORA_TRY(auto const budget, arguments.real("--budget-gpu-h", kBudgetMin_h, kBudgetMax_h));
    if (budget) options.budget_gpu_s = *budget * kSecondsPerHour;
    return options;
}

/// Time that the run of a user program spent outside its steps: osora cannot estimate its start.
double beside_steps_s(RunSummary const& bad) {
    auto const& run = bad.run;
    auto const begin_us = db::began_us(run);
    if (!begin_us || !run.ended_us || !bad.measured) return kBisectStartGuess_s;
    double const wall_s = static_cast<double>(*run.ended_us - *begin_us) / 1e6;
    return std::max(0.0, wall_s - bad.measured->next_step * bad.measured->step_s_median);
}

/// Estimated cost of the search.
void estimate(Bisection& bisection) {
    auto& plan = bisection.plan;
    auto const& run = bisection.bad.run.summary.run;
    int const commits = plan.tries_commits() ? plan.commits.path->steps() : 0;
    if (commits > 1) plan.expected_commits = expected_commit_trials(commits, bisection.options);
    plan.expected = expected_trials(plan.atoms.atoms, bisection.options);
    if (plan.only_commits() && commits > 1) {
        plan.expected = plan.expected_commits;
    } else {  // the ends of the path are known by then
        plan.expected_commits =
            std::max(0, plan.expected_commits - 2 * bisection.options.baseline_trials);
    }
    plan.nodes = run.nodes;
    plan.ranks = run.ranks;
    plan.gpu = bisection.bad.run.summary.device.starts_with("cuda");
    double const start_s =
        run.job == "exec" ? beside_steps_s(bisection.bad.run.summary) : kBisectStartGuess_s;
    plan.trial_s = start_s + plan.steps * (plan.good_s + plan.bad_s) / 2;
    plan.budget_gpu_h = bisection.options.budget_gpu_s / 3600;
}

/// From similar runs of the good run's series; they do not apply to rehearsals of a training run.
Result<void> set_sigma(db::Store& store, Bisection& bisection) {
    auto const& good = bisection.good.run.summary;
    auto& plan = bisection.plan;
    if (plan.level == "rehearsal" && good.run.job != "rehearse") {
        return boost::system::in_place_value;
    }
    OSORA_TRY(auto const series, db::load_series(store, good.run.series));
    constexpr int kWarmupPart = 5;
    auto const sigma = sigma_of_like_runs(series, good, plan.steps - plan.steps / kWarmupPart);
    if (sigma.runs == 0) return boost::system::in_place_value;
    plan.sigma_s = sigma.sigma_s;
    plan.sigma_runs = sigma.runs;
    bisection.options.sigma_s = sigma.sigma_s;
    bisection.options.sigma_runs = sigma.runs;
    return boost::system::in_place_value;
}

/// The two runs named on the command line, and the search that would run between them.
Result<Bisection> bisection_of(Context const& context, Arguments const& arguments,
                               db::Store& store) {
    Bisection bisection;
    auto const first = arguments.value("GOOD"), second = arguments.value("BAD");
    OSORA_TRY(bisection.bad, load_side(store, second ? *second : *first, trust_of(arguments)));
    std::string good = *first;
    if (!second) {
        OSORA_TRY(good, last_good_run(store, bisection.bad.run));
    }
    OSORA_TRY(bisection.good, load_side(store, good, trust_of(arguments)));
    auto& plan = bisection.plan;
    plan.good = bisection.good.run.summary.run.number;
    plan.bad = bisection.bad.run.summary.run.number;
    plan.good_s = bisection.good.step_s();
    plan.bad_s = bisection.bad.step_s();
    for (auto const* side : {&bisection.good, &bisection.bad}) {
        auto const& summary = side->run.summary;
        if (!db::analysis::plan_covers(summary)) plan.staged.push_back(summary.run.number);
    }
    OSORA_TRY(bisection.options, options_of(arguments, bisection.bad.config));
    OSORA_TRY(auto const steps, arguments.number("--steps", kBisectStepsMin, kBisectStepsMax));
    plan.steps = steps.value_or(kBisectSteps);
    bisection.available = available_hosts(context, bisection.bad);
    bisection.layers = config_request(context, arguments);
    bisection.layers.run_file.clear();
    OSORA_TRY(auto build, build_recipe(bisection.good, bisection.bad, bisection.layers));
    bisection.layers.sets.clear();
    plan.commits = commit_range(context, bisection.good, bisection.bad, std::move(build));
    plan.atoms =
        triable_atoms(bisection.good, bisection.bad, bisection.available, plan.commits.factor);
    plan.level = first_level(bisection, arguments.has("--real"));
    estimate(bisection);
    OSORA_TRY_VOID(set_sigma(store, bisection));
    bisection.series = bisection.bad.run.summary.run.series + "-bisect";
    bisection.anew = arguments.has("--anew");
    bisection.json = arguments.has("--json");
    if (bisection.json) bisection.progress = stderr;
    return bisection;
}

int show(Bisection const& bisection, BisectOutcome const& outcome) {
    if (bisection.json) {
        print_json("bisect", bisect_json(bisection.plan, outcome.answer));
    } else {
        cli::print("\n{}", bisect_answer_text(bisection.plan, outcome.answer));
        if (!outcome.failure.empty()) cli::print("a trial failed: {}\n", outcome.failure);
    }
    if (outcome.interrupted) return kExitInterrupted;
    return outcome.answer.result().verdict == BisectVerdict::proved ? kExitOk : kExitUndecided;
}

/// The history already shows this; no trial is needed.
BisectOutcome no_slower(BisectPlan const& plan) {
    BisectOutcome outcome;
    auto& result = outcome.answer.items.emplace();
    result.verdict = BisectVerdict::not_reproducible;
    result.good_s = plan.good_s;
    result.bad_s = plan.bad_s;
    result.reasons.push_back(
        fmt::format("run {} was no slower than run {} in the first place; osora diff {} {} shows "
                    "what differs",
                    plan.bad, plan.good, plan.good, plan.bad));
    return outcome;
}

protocol::json::object plan_json(BisectPlan const& plan) {
    BisectAnswer nothing;
    nothing.items.emplace();
    return bisect_json(plan, nothing);
}

/// What does not go together; "": all does.
std::string misused(Arguments const& arguments) {
    if (!arguments.has("--scaling")) {
        if (!arguments.has("GOOD")) {
            return "name two runs, or the slow one, or a series with --scaling";
        }
        for (char const* option : {"--nodes", "--strong"}) {
            if (arguments.has(option)) return fmt::format("{} is for --scaling SERIES", option);
        }
        return "";
    }
    if (arguments.has("GOOD")) return "name runs, or a series with --scaling";
    if (arguments.has("--set")) return "--set bisect.build is for two runs, not for --scaling";
    if (arguments.has("--trust")) {
        return "--trust is for two runs; --scaling takes no runs that were imported";
    }
    if (arguments.has("--trials")) {
        return "--trials is for two runs; --scaling runs each size four times, within "
               "--budget-gpu-h";
    }
    return "";
}

int run_bisect(Context const& context, Arguments const& arguments) {
    if (auto const why = misused(arguments); !why.empty()) return fail(kExitUsage, why);
    if (arguments.has("--scaling")) return bisect_scaling(context, arguments);
    auto const state = state_dir(context.environment);
    if (state.has_error()) return fail(kExitUsage, state.error());
    auto bisection = [&]() -> Result<Bisection> {
        OSORA_TRY(auto const history, open_history_or_warn(*state));
        return bisection_of(context, arguments, *history);
    }();
    if (bisection.has_error()) {
        return fail(bisection.error());
    }
    bisection->state = *state;
    auto const& plan = bisection->plan;
    if (plan.bad_s <= plan.good_s * (1 + bisection->options.min_effect)) {
        return show(*bisection, no_slower(plan));
    }
    cli::print(bisection->progress, "{}", bisect_plan_text(plan));
    if (plan.atoms.atoms.empty()) {
        if (bisection->json) print_json("bisect", plan_json(plan));
        return fail(kExitUndecided,
                    "nothing differs that a trial could switch; try: osora doctor, osora probe, "
                    "osora bisect --scaling SERIES");
    }
    if (arguments.has("--dry-run")) {
        cli::print(bisection->progress, "rung: {}\n\n{}", trial_level_text(plan, plan.level),
                   bisect_factor_text(plan));
        if (bisection->json) print_json("bisect", plan_json(plan));
        return kExitOk;
    }
    auto const outcome = search_for_cause(context, *bisection);
    if (outcome.has_error()) {
        return fail(outcome.error());
    }
    return show(*bisection, *outcome);
}

}  // namespace

CommandSpec bisect_command() {
    return {
        .name = "bisect",
        .summary = "find and prove what made a run slow",
        .details =
            "Takes the items that differ between a good and a bad run (settings, variables, "
            "nodes, commits) and runs short trials with some of them as in the one and some as in "
            "the other, until the ones that make the step slow are found; ends with a proof in "
            "interleaved blocks. Commits take part when [bisect] build says how to build one: of "
            "the repository that a job = \"exec\" program is in, else of osora. Trials are "
            "rehearsals where these show the gap, else short "
            "training runs. With one run, the good one is the last of its series before it that "
            "was fast. Start it inside an allocation (salloc) so that trials do not queue. The "
            "same command continues where it was stopped. Exit code 0: a cause is proved; 3: it is "
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
                    {.name = "--trials", .value = "N", .help = "Two runs: at most so many (120)."},
                    {.name = "--budget-gpu-h",
                     .value = "N",
                     .help = "At most so many GPU-hours (bisect.budget_gpu_h)."},
                    {.name = "--anew", .value = "", .help = "Measure again what is known."},
                    {.name = "--set",
                     .value = "bisect.build=VALUE",
                     .help = "How to build a commit, when the runs do not say: [\"make\"]."},
                    trust_option(),
                    json_option("Print one JSON object at the end; progress goes to stderr.")},
        .run = run_bisect};
}

}  // namespace osora::cli
