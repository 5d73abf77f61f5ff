// osora bisect: trials between a good and a bad run, until what made it slow is named and proved.
#include "base/files.hpp"
#include "base/robust.hpp"
#include "base/units.hpp"
#include "cli/bisect_log.hpp"
#include "cli/bisect_scaling.hpp"
#include "cli/bisect_text.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/history_access.hpp"
#include "cli/json_output.hpp"
#include "cli/last_good_run.hpp"
#include "cli/run_file_command.hpp"
#include "cli/trial_run.hpp"
#include "db/queries.hpp"
#include "plan/config/candidate_hosts.hpp"
#include "plan/config/template.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::cli {
namespace {

using namespace db::analysis;

constexpr int kSteps = 25, kStepsMin = 5, kStepsMax = 100'000;
constexpr int kTrialsMax = 1000;
/// A rung whose trials show less of the gap than this is too low.
constexpr double kReproduced = 0.8;
/// Start and end of a trial, before one has been timed.
constexpr double kStartGuess_s = 10;

struct Bisection {
    BisectSide good, bad;
    BisectPlan plan;
    BisectOptions options;
    plan::ConfigRequest layers;  // of this user, without a run file
    std::vector<std::string> available;
    std::string series;
    std::filesystem::path state;
    bool json = false, anew = false;
    std::FILE* progress = stdout;
};

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

/// Runs trials of one rung, and keeps what they measured.
class Trials {
public:
    Trials(Context const& context, Bisection const& bisection, BisectLog log, std::string rung)
        : context_(context),
          bisection_(bisection),
          log_(std::move(log)),
          rung_(std::move(rung)),
          known_(log_.trials()) {}

    Result<TrialOutcome> measure(Trial const& trial) {
        auto const bits = bits_of(trial.flipped);
        auto const index = static_cast<std::size_t>(trial.seq - 1);
        if (index < known_.size()) {
            if (known_[index].flipped == bits) return outcome_of(known_[index]);
            return Error{Errc::corrupt, "the log holds other trials; --anew measures again"};
        }
        if (too_low()) return Error{Errc::not_found, "this rung does not show the gap"};
        LoggedTrial done = run(trial);
        done.flipped = bits;
        if (interrupted_) return Error{Errc::cancelled, "stopped"};
        OSORA_TRY_VOID(log_.add(done));
        return outcome_of(done);
    }

    void note(TrialRecord const& record) {
        if (record.trial.phase == TrialPhase::baseline) {
            auto const& flipped = record.trial.flipped;
            bool const all = std::ranges::find(flipped, false) == flipped.end();
            (all ? bad_s_ : good_s_).push_back(record.outcome.value_s);
        }
        fmt::print(bisection_.progress, "{}", bisect_trial_line(bisection_.plan, record));
        std::fflush(bisection_.progress);
    }

    /// Share of the gap in history that the baseline trials show.
    [[nodiscard]] double reproduced() const {
        if (good_s_.empty() || bad_s_.empty()) return 0;
        double const gap_s = bisection_.plan.bad_s - bisection_.plan.good_s;
        return (median(bad_s_) - median(good_s_)) / gap_s;
    }
    [[nodiscard]] bool was_too_low() const { return too_low_; }
    [[nodiscard]] bool interrupted() const { return interrupted_; }
    [[nodiscard]] std::string const& id() const { return log_.id(); }
    [[nodiscard]] std::string const& failure() const { return failure_; }

private:
    /// Whether the baseline is measured and a higher rung must be climbed.
    bool too_low() {
        auto const needed = static_cast<std::size_t>(bisection_.options.baseline_trials);
        bool const measured = good_s_.size() >= needed && bad_s_.size() >= needed;
        too_low_ = rung_ == "rehearsal" && can_climb() && measured && reproduced() < kReproduced;
        return too_low_;
    }
    [[nodiscard]] bool can_climb() const { return bisection_.bad.run.summary.run.job == "train"; }

    TrialOutcome outcome_of(LoggedTrial const& trial) const {
        return {trial.status, trial.value_s, trial.cost_gpu_s, rung_};
    }

    LoggedTrial run(Trial const& trial) {
        auto const choice = choice_of(bisection_.plan.atoms, trial.flipped);
        auto start = trial_start(bisection_.good, bisection_.bad, choice, context_.environment,
                                 bisection_.available);
        if (start.has_error()) return refused(start.error().message);
        bool const rehearsed = rung_ == "rehearsal";
        if (rehearsed) set_own_work(bisection_.good, bisection_.bad, start->config);
        auto const file = write_run_file(start->config);
        if (file.has_error()) return refused(file.error().message);
        auto request = bisection_.layers;
        request.run_file = *file;
        auto const& job = bisection_.bad.run.summary.run.job;
        auto const sets =
            trial_settings(rehearsed ? "rehearse" : job, bisection_.series, bisection_.plan.steps);
        request.sets.insert(request.sets.end(), sets.begin(), sets.end());
        Context context = context_;
        context.environment = std::move(start->environment);
        auto const end = run_trial(context, request);
        interrupted_ = end.exit_code == kExitInterrupted;
        if (!end.failure.empty()) failure_ = end.failure;
        LoggedTrial done{.run = end.run};
        done.cost_gpu_s = end.wall_s * std::max(1, end.ranks);
        done.value_s = end.step_s;
        if (!end.failure.empty()) {
            done.value_s = kNotMeasured;
            done.status =
                end.exit_code == kExitUsage ? TrialStatus::cannot_start : TrialStatus::aborted;
        }
        return done;
    }

    LoggedTrial refused(std::string why) {
        failure_ = std::move(why);
        return {.status = TrialStatus::cannot_start};
    }

    /// One file for all trials of a rung: each run keeps its own copy.
    Result<std::filesystem::path> write_run_file(plan::RunConfig const& config) const {
        auto const path = bisection_.state / "bisects" / (log_.id() + ".toml");
        auto const title = fmt::format("# A trial of osora bisect {} {}.", bisection_.plan.good,
                                       bisection_.plan.bad);
        OSORA_TRY_VOID(write_file_atomic(
            path, plan::run_file_text(config, title, plan::LiveKeys::changed), 0600));
        return path;
    }

    Context const& context_;
    Bisection const& bisection_;
    BisectLog log_;
    std::string rung_;
    std::vector<LoggedTrial> known_;  // measured by earlier calls
    std::vector<double> good_s_, bad_s_;
    bool too_low_ = false, interrupted_ = false;
    std::string failure_;
};

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
        return fail(kExitUndecided,
                    "nothing differs that a trial could switch; try: osora doctor, osora probe, "
                    "osora bisect --scaling SERIES");
    }
    if (arguments.has("--dry-run")) {
        fmt::print(bisection->progress, "rung: {} of {} steps\n\n{}", plan.rung, plan.steps,
                   bisect_factor_text(plan));
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
