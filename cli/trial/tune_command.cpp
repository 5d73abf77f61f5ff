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
#include "cli/text/text_table.hpp"
#include "cli/trial/batch_tuning.hpp"
#include "cli/trial/tune_plan.hpp"
#include "cli/trial/tune_trials.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

namespace osora::cli {
namespace {

constexpr int kTuneSteps = 25, kTuneStepsMax = 100'000;
constexpr int kTrials = 60, kTuneTrialsMax = 10'000;

struct Tuning {
    TuneRun run;
    bool json = false;
    int trials = kTrials;
    std::vector<plan::TuneCandidate> candidates;
    TuneShape shape;
};

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

/// Whether the key is unknown or the value is none of it, in any run file.
bool is_mistyped(plan::ConfigRequest const& request, std::string const& key) {
    auto const resolved = plan::load_config(request);
    return resolved.unread.contains(key) || plan::value_text(resolved.config, key).empty();
}

int nothing_tried(std::string const& key, std::string const& value) {
    return fail(kExitUsage,
                fmt::format("--try {}={}: not valid here; nothing was tried", key, value));
}

/// Values of --try that this run file cannot use are left out before any trial. An exit code: a
/// value is mistyped, or a key has none left; the problems are printed.
std::optional<int> leave_out_refused(Context const& context, Tuning& tuning) {
    for (auto& candidate : tuning.candidates) {
        std::vector<std::string> usable, refused;
        for (auto const& value : candidate.values) {
            auto request = tuning.run.request;
            request.sets.push_back(candidate.key + "=" + value);
            bool const mistyped = is_mistyped(request, candidate.key);
            bool const fits = prepare_run(context, request, mistyped && tuning.json).has_value();
            if (mistyped && !fits) return nothing_tried(candidate.key, value);
            (fits ? usable : refused).push_back(value);
        }
        if (usable.empty()) return nothing_tried(candidate.key, refused.back());
        for (auto const& value : refused) {
            cli::print(stderr, "note: --try {}={} is left out: this run file cannot use it\n",
                       candidate.key, value);
        }
        candidate.values = std::move(usable);
    }
    return std::nullopt;
}

boost::system::result<Tuning, int> tuning_of(Context const& context, Arguments const& arguments) {
    Tuning tuning;
    tuning.json = arguments.has("--json");
    auto const steps = arguments.number("--steps", 5, kTuneStepsMax);
    auto const trials = arguments.number("--trials", 2, kTuneTrialsMax);
    if (steps.has_error()) return fail(kExitUsage, steps.error());
    if (trials.has_error()) return fail(kExitUsage, trials.error());
    tuning.trials = trials->value_or(kTrials);
    auto run = tune_run(context, arguments, arguments.has("--real"), steps->value_or(kTuneSteps));
    if (run.has_error()) return fail(kExitUsage, run.error());
    tuning.run = std::move(*run);
    auto const base = prepare_run(context, tuning.run.request, tuning.json);
    if (base.has_error()) return base.error();
    print_notes(*base);  // the notes of the trials would be the same
    auto candidates = candidates_for(context, arguments, *base);
    if (candidates.has_error()) return fail(kExitUsage, candidates.error());
    tuning.candidates = std::move(*candidates);
    if (arguments.has("--try")) {
        if (auto const refused = leave_out_refused(context, tuning)) return *refused;
    }
    if (tuning.candidates.empty()) {
        return fail(kExitUndecided, "nothing to try: one rank has no communication");
    }
    tuning.shape = shape_of(base->submission.resolved.config);
    return tuning;
}

std::string settings_text(plan::TuneTrial const& trial) {
    return trial.with_change ? trial.key + "=" + trial.value
           : trial.settings.empty()
               ? std::string("as it is")
               : fmt::format("with {}", fmt::join(sets_of(trial.settings), " "));
}

double known_or_zero(double value) {
    return std::isfinite(value) ? value : 0;
}

/// For a trial whose steps have other samples than the first one's.
std::string other_batch_note(TrialEnd const& end, double samples) {
    constexpr double kRounding = 1e-3;
    if (step_s_for(end, samples) == end.step_s) return {};
    if (std::abs(end.samples_per_step / samples - 1) < kRounding) return {};
    return fmt::format("      {} samples took {}; the time of {} is compared\n",
                       three_digits(end.samples_per_step), format_seconds(end.step_s),
                       three_digits(samples));
}

std::string verdict_text(plan::TuneVerdict const& verdict) {
    return fmt::format("{:<8} {}={}: {}", verdict.kept ? "kept" : "dropped", verdict.key,
                       verdict.value,
                       verdict.failure.empty() ? verdict.decision.reason : verdict.failure);
}

protocol::json::object json_of(Tuning const& tuning, plan::TuneSearch const& search) {
    protocol::json::array verdicts;
    for (auto const& each : search.verdicts()) {
        protocol::json::object verdict{
            {"key", each.key}, {"value", each.value}, {"kept", each.kept}};
        add_gain(verdict, each);
        verdict["reason"] = each.failure.empty() ? each.decision.reason : each.failure;
        verdicts.push_back(std::move(verdict));
    }
    return {{"run", tuning.run.name},
            {"rung", tuning.run.rung},
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

db::InvestigationEnd end_of(plan::TuneSearch const& search) {
    auto const* const verdict = !search.failure().empty() ? "undecided"
                                : search.kept().empty()   ? "nothing_helps"
                                                          : "helps";
    return {.verdict = verdict, .culprits = judged_settings(search.verdicts())};
}

int run_tune(Context const& context, Arguments const& arguments) {
    if (arguments.has("--batch")) return tune_batches(context, arguments);
    auto const tuning = tuning_of(context, arguments);
    if (tuning.has_error()) return tuning.error();
    plan::TuneSearch search(tuning->candidates, {}, tuning->trials);
    TuneRecord record(context, tuning->run);
    std::FILE* const progress = tuning->json ? stderr : stdout;
    cli::print(progress, "tune {} · {} of {} steps, at most {} trials\n\n {:>3}  {:<50} {:>12}\n",
               tuning->run.name, tuning->run.rung == "train" ? "training" : "rehearsals",
               tuning->run.steps, tuning->trials, "#", "trial", "a step");
    double samples = 0;  // of a step, as it is
    while (auto const trial = search.next()) {
        auto const end = record.measure(context, trial->settings);
        if (samples <= 0 && end.failure.empty()) samples = known_or_zero(end.samples_per_step);
        double const step_s = step_s_for(end, samples);
        cli::print(progress, " {:>3}  {:<50} {:>12}\n", search.trials() + 1, settings_text(*trial),
                   end.failure.empty() ? format_seconds(step_s) : "failed");
        if (end.failure.empty()) cli::print(progress, "{}", other_batch_note(end, samples));
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
            search.add(step_s);
        } else {
            search.add_failure(end.failure);
        }
    }
    record.end(end_of(search));
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
        {.name = "--batch",
         .value = "",
         .help = "Try micro-batches, recomputing and layouts, by training (12 trials)."},
        {.name = "--try",
         .value = "SECTION.KEY=V1,V2",
         .help = "Try these values of this key, and nothing else.",
         .repeated = true},
        {.name = "--real", .value = "", .help = "Train in each trial, rather than rehearse."},
        {.name = "--steps", .value = "N", .help = "Steps of a trial (25)."},
        {.name = "--trials", .value = "N", .help = "At most so many (60; --batch: 12)."},
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
                "other in it; outside each one is queued.\n\n"
                "--batch finds the micro-batches, the recomputing and the layout that train most "
                "samples a second with the plan's global batches. It trains first with what needs "
                "least memory, then as planned, then with what promises most after each "
                "measurement, until no setting promises to gain 0.3 %. Keys that the run file "
                "sets keep their values; a trial that runs out of memory is left out.",
            .example =
                "osora tune stage1.toml --try parallel.grad_bucket_mib=10,50\n"
                "salloc -N16 osora tune stage1.toml --nccl\n"
                "osora tune stage1.toml --batch\n"
                "osora tune stage1.toml --try worker.env.GLOO_SOCKET_IFNAME=eth1",
            .positionals = {run_file_positional()},
            .options = std::move(options),
            .run = run_tune};
}

}  // namespace osora::cli
