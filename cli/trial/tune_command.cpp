// osora tune: trials of settings in interleaved pairs; keeps and reports what helps beyond noise.
#include "base/text/units.hpp"
#include "cli/cluster/advice_inputs.hpp"
#include "cli/command/commands.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/plan/tune_memory.hpp"
#include "cli/run/prepared_run.hpp"
#include "cli/trial/trial_log.hpp"
#include "cli/trial/trial_run.hpp"
#include "cli/trial/tune_plan.hpp"
#include "protocol/state_paths.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>

namespace osora::cli {
namespace {

constexpr int kTuneSteps = 25, kTuneStepsMax = 100'000;
constexpr int kTrials = 60, kTuneTrialsMax = 10'000;

struct Tuning {
    plan::ConfigRequest request;  // settings of a trial, without the candidates
    std::string name;             // of the run file
    bool real = false;
    bool json = false;
    int steps = kTuneSteps, trials = kTrials;
    std::vector<plan::TuneCandidate> candidates;
    TuneShape shape;
};

/// The trials' own settings come last: they override the run file and the user's --set.
Result<plan::ConfigRequest> trial_request(Context const& context, Arguments const& arguments,
                                          Tuning& tuning) {
    auto request = config_request(context, arguments);
    auto const resolved = plan::load_config(request);
    if (resolved.problems.empty() && resolved.config.run.job != "train") {
        return Error{
            Errc::invalid_input,
            fmt::format("run.job = \"{}\": only training runs are tuned", resolved.config.run.job)};
    }
    tuning.name = resolved.config.run.name;
    if (auto const backend = arguments.value("--backend")) {
        request.sets.push_back("resources.backend=" + *backend);
    }
    std::ranges::move(
        trial_settings(tuning.real ? "train" : "rehearse", tuning.name + "-tune", tuning.steps),
        std::back_inserter(request.sets));
    return request;
}

/// The candidates: named on the command line, or all known ones.
Result<std::vector<plan::TuneCandidate>> candidates_for(Context const& context,
                                                        Arguments const& arguments,
                                                        PreparedRun const& base) {
    std::vector<plan::TuneCandidate> list;
    for (auto const& text : arguments.all("--try")) {
        OSORA_TRY(auto candidate, named_candidate(text));
        list.push_back(std::move(candidate));
    }
    if (!list.empty()) return list;
    auto const& config = base.submission.resolved.config;
    list = own_candidates(config, base.submission.plan);
    if (!arguments.has("--nccl")) return list;
    if (!base.planned.header.gpu) {
        cli::print(stderr,
                   "note: --nccl: no GPU is seen here, so none of NCCL's settings is tried; start "
                   "osora tune where the ranks run, or name them: --try worker.env.NCCL_...\n");
        return list;
    }
    auto const sources = advice_sources(context, arguments);
    if (sources.has_error()) return Error{Errc::invalid_input, "no advice on NCCL's settings"};
    auto advised = nccl_candidates(plan::advise_nccl(sources->inputs).candidates);
    std::ranges::move(advised, std::back_inserter(list));
    return list;
}

boost::system::result<Tuning, int> tuning_of(Context const& context, Arguments const& arguments) {
    Tuning tuning;
    tuning.real = arguments.has("--real");
    tuning.json = arguments.has("--json");
    auto const steps = arguments.number("--steps", 5, kTuneStepsMax);
    auto const trials = arguments.number("--trials", 2, kTuneTrialsMax);
    if (steps.has_error()) return fail(kExitUsage, steps.error().message);
    if (trials.has_error()) return fail(kExitUsage, trials.error().message);
    tuning.steps = steps->value_or(kTuneSteps);
    tuning.trials = trials->value_or(kTrials);
    auto request = trial_request(context, arguments, tuning);
    if (request.has_error()) return fail(kExitUsage, request.error().message);
    tuning.request = std::move(*request);
    auto const base = prepare_run(context, tuning.request, tuning.json);
    if (base.has_error()) return base.error();
    print_notes(*base);  // the notes of the trials would be the same
    auto candidates = candidates_for(context, arguments, *base);
    if (candidates.has_error()) return fail(kExitUsage, candidates.error().message);
    tuning.candidates = std::move(*candidates);
    if (tuning.candidates.empty()) {
        return fail(kExitUndecided, "nothing to try: one rank has no communication");
    }
    tuning.shape = shape_of(base->submission.resolved.config);
    return tuning;
}

TrialEnd run_tune_trial(Context const& context, Tuning const& tuning, plan::TuneTrial const& trial,
                        std::optional<TrialLog>& log) {
    auto request = tuning.request;
    auto const sets = sets_of(trial.settings);
    request.sets.insert(request.sets.end(), sets.begin(), sets.end());
    auto end = run_trial(context, request);
    if (!log || end.exit_code == kExitInterrupted) return end;
    if (auto const kept = log->add(investigated(end, sets)); kept.has_error()) {
        cli::print(stderr, "note: not kept for history: {}\n", kept.error().message);
        log.reset();
    }
    return end;
}

/// For the history: an error in writing is reported once and stops nothing.
std::optional<TrialLog> log_of(Context const& context, Tuning const& tuning) {
    db::Investigation what{.kind = "tune", .series = tuning.name};
    what.question.rung = tuning.real ? "run" : "rehearsal";
    what.question.steps = tuning.steps;
    auto const state = state_dir(context.environment);
    if (state.has_error()) return {};
    auto log = TrialLog::open(protocol::StatePaths{*state}.tunes(), std::move(what), LogMode::own);
    if (log.has_value()) return std::move(*log);
    cli::print(stderr, "note: not kept for history: {}\n", log.error().message);
    return {};
}

std::string settings_text(plan::TuneTrial const& trial) {
    return trial.with_change ? trial.key + "=" + trial.value
           : trial.settings.empty()
               ? std::string("as it is")
               : fmt::format("with {}", fmt::join(sets_of(trial.settings), " "));
}

std::string verdict_text(plan::TuneVerdict const& verdict) {
    return fmt::format("{:<8} {}={}: {}", verdict.kept ? "kept" : "dropped", verdict.key,
                       verdict.value,
                       verdict.failure.empty() ? verdict.decision.reason : verdict.failure);
}

protocol::json::object json_of(Tuning const& tuning, plan::TuneSearch const& search) {
    protocol::json::array verdicts;
    for (auto const& each : search.verdicts()) {
        verdicts.push_back(protocol::json::object{
            {"key", each.key},
            {"value", each.value},
            {"kept", each.kept},
            {"gain", each.decision.gain},
            {"low", each.decision.low},
            {"high", each.decision.high},
            {"reason", each.failure.empty() ? each.decision.reason : each.failure}});
    }
    return {{"run", tuning.name},
            {"rung", tuning.real ? "train" : "rehearse"},
            {"trials", search.trials()},
            {"kept", protocol::to_json(search.kept())},
            {"verdicts", std::move(verdicts)}};
}

void print_answer(plan::TuneSearch const& search, bool stopped) {
    cli::print("\n");
    for (auto const& each : search.verdicts()) cli::print("{}\n", verdict_text(each));
    if (stopped) cli::print("stopped: what was not judged is open, and nothing is remembered\n");
    if (search.kept().empty()) {
        if (!stopped) cli::print("nothing helps beyond noise: the run file is fine as it is\n");
    } else {
        cli::print("\n{}", run_file_lines(search.kept()));
    }
}

void end_log(std::optional<TrialLog>& log, plan::TuneSearch const& search) {
    if (!log) return;
    auto const* const verdict = !search.failure().empty() ? "undecided"
                                : search.kept().empty()   ? "nothing_helps"
                                                          : "helps";
    auto const kept =
        log->end({.verdict = verdict, .culprits = judged_settings(search.verdicts())});
    if (kept.has_error()) cli::print(stderr, "note: {}\n", kept.error().message);
}

int run_tune(Context const& context, Arguments const& arguments) {
    auto const tuning = tuning_of(context, arguments);
    if (tuning.has_error()) return tuning.error();
    plan::TuneSearch search(tuning->candidates, {}, tuning->trials);
    auto log = log_of(context, *tuning);
    std::FILE* const progress = tuning->json ? stderr : stdout;
    cli::print(progress, "tune {} · {} of {} steps, at most {} trials\n\n {:>3}  {:<50} {:>12}\n",
               tuning->name, tuning->real ? "training" : "rehearsals", tuning->steps,
               tuning->trials, "#", "trial", "a step");
    while (auto const trial = search.next()) {
        auto const end = run_tune_trial(context, *tuning, *trial, log);
        cli::print(progress, " {:>3}  {:<50} {:>12}\n", search.trials() + 1, settings_text(*trial),
                   end.failure.empty() ? format_seconds(end.step_s) : "failed");
        std::fflush(progress);
        if (end.exit_code == kExitInterrupted) {
            // A setting that was kept so far is not saved yet: later trials may change the verdict.
            if (tuning->json) {
                print_json("tune", json_of(*tuning, search));
            } else {
                print_answer(search, true);
            }
            return kExitInterrupted;
        }
        if (end.failure.empty()) {
            search.add(end.step_s);
        } else {
            search.add_failure(end.failure);
        }
    }
    end_log(log, search);
    if (!search.failure().empty()) {
        return fail(kExitBad, "the run without changes does not run: " + search.failure());
    }
    auto const remembered = remember_tuning(context, tuning->shape, search.kept());
    if (remembered.has_error()) cli::print(stderr, "note: {}\n", remembered.error().message);
    if (tuning->json) {
        print_json("tune", json_of(*tuning, search));
    } else {
        print_answer(search, false);
    }
    return search.verdicts().empty() ? kExitUndecided : kExitOk;
}

}  // namespace

CommandSpec tune_command() {
    auto options = std::vector<OptionSpec>{
        {.name = "--nccl",
         .value = "",
         .help = "Also NCCL's settings that osora nccl advise names as candidates."},
        {.name = "--try",
         .value = "SECTION.KEY=V1,V2",
         .help = "Try these values of this key, and nothing else.",
         .repeated = true},
        {.name = "--real", .value = "", .help = "Train in each trial, rather than rehearse."},
        {.name = "--steps", .value = "N", .help = "Steps of a trial (25)."},
        {.name = "--trials", .value = "N", .help = "At most so many (60)."},
        {.name = "--backend",
         .value = "NAME",
         .help = "Short for --set resources.backend=NAME.",
         .choices = "local|ssh|slurm"},
        set_option(),
        json_option("Print one JSON object at the end; progress goes to stderr.")};
    return {.name = "tune",
            .summary = "try settings in pairs of runs, and keep what helps",
            .details =
                "Runs short rehearsals (or training, --real) with and without a setting, in "
                "interleaved pairs, three to six of them, and keeps it only when it saves at "
                "least 2 % of the step beyond the noise between trials. Tried are osora's own "
                "communication settings, NCCL's (--nccl, on GPUs), or those of --try. Ends with "
                "the lines for the run file; they are remembered for runs of this model and "
                "number of nodes on this backend. Inside a Slurm job the trials run one after the "
                "other in it; outside each one is queued.",
            .example =
                "osora tune stage1.toml --try parallel.grad_bucket_mib=10,50\n"
                "salloc -N16 osora tune stage1.toml --nccl\n"
                "osora tune stage1.toml --try worker.env.GLOO_SOCKET_IFNAME=eth1",
            .positionals = {run_file_positional()},
            .options = std::move(options),
            .run = run_tune};
}

}  // namespace osora::cli
