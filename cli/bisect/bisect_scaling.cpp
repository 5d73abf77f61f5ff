#include "cli/bisect/bisect_scaling.hpp"

#include "base/env.hpp"
#include "base/robust.hpp"
#include "base/text/text.hpp"
#include "base/text/units.hpp"
#include "cli/bisect/probe_evidence.hpp"
#include "cli/bisect/scaling_text.hpp"
#include "cli/bisect/scaling_trials.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/history_access.hpp"
#include "cli/command/json_output.hpp"
#include "cli/command/print.hpp"
#include "cli/command/run_file_command.hpp"
#include "cli/trial/tune_plan.hpp"
#include "db/analysis/changepoint/significance.hpp"
#include "db/store/queries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::cli {
namespace {

using db::analysis::ScalingPoint;

constexpr int kScalingSteps = 25, kScalingStepsMin = 5, kScalingStepsMax = 100'000;
constexpr int kNodesMax = 65'536;
/// Parts of a step that a slow link makes longer.
constexpr char const *kExposed = "exposed communication", *kWaiting = "waiting for slower ranks";
constexpr double kBudgetMin_h = 0.001, kBudgetMax_h = 1e6;
constexpr double kScalingStartGuess_s = 10;  // of a trial, before its first step is known
constexpr int kRepeats = 4;                  // trials per size; for two sizes that never overlap p
                                             // = 1/70
constexpr int kRemedyTrials = 40;
/// Below this efficiency remedies are tried.
constexpr double kEfficiencyLow = 0.9;

/// The newest run of the series that has steps to represent it.
Result<std::string> newest_run(db::Store& store, std::string const& series) {
    OSORA_TRY(auto const runs, db::load_own_series(store, series));
    for (auto each = runs.rbegin(); each != runs.rend(); ++each) {
        auto const& measured = each->summary.measured;
        if (measured && measured->steps_used > 0) return each->summary.run.uuid;
    }
    return Error{Errc::not_found,
                 fmt::format("series {}: no run has steps after its warm-up", series)};
}

int largest_size(db::Store& store, std::string const& series) {
    int largest = 1;
    auto const runs = db::load_own_series(store, series);
    if (runs.has_error()) return largest;
    for (auto const& each : *runs) largest = std::max(largest, each.summary.run.nodes);
    return largest;
}

std::vector<int> sizes_up_to(int nodes) {
    std::vector<int> sizes;
    for (int size = 1; size < nodes; size *= 2) sizes.push_back(size);
    sizes.push_back(nodes);
    return sizes;
}

Result<Scaling> scaling_of(Context const& context, Arguments const& arguments) {
    Scaling scaling;
    scaling.series = arguments.value("--scaling").value_or("");
    OSORA_TRY(scaling.state, state_dir(context.environment));
    OSORA_TRY(auto const history, open_history(scaling.state));
    OSORA_TRY(auto const run, newest_run(*history.store, scaling.series));
    OSORA_TRY(scaling.base, load_side(*history.store, run, Imported::refused));
    OSORA_TRY(auto const nodes, arguments.number("--nodes", 2, kNodesMax));
    OSORA_TRY(auto const steps, arguments.number("--steps", kScalingStepsMin, kScalingStepsMax));
    auto const largest = nodes.value_or(largest_size(*history.store, scaling.series));
    if (largest < 2) {
        return Error{Errc::invalid_input,
                     fmt::format("series {} has only run on one node; say how far to go: --nodes N",
                                 scaling.series)};
    }
    auto const& job = scaling.base.run.summary.run.job;
    if (job != "train" && job != "rehearse") {
        return Error{Errc::invalid_input,
                     fmt::format("run.job = \"{}\": only training runs and rehearsals have a size "
                                 "that osora can choose",
                                 job)};
    }
    scaling.sizes = sizes_up_to(largest);
    scaling.steps = steps.value_or(kScalingSteps);
    scaling.strong = arguments.has("--strong");
    scaling.real = arguments.has("--real");
    scaling.json = arguments.has("--json");
    scaling.repeats = kRepeats;
    scaling.anew = arguments.has("--anew");
    OSORA_TRY(auto const budget, arguments.real("--budget-gpu-h", kBudgetMin_h, kBudgetMax_h));
    scaling.budget_gpu_s =
        kSecondsPerHour * budget.value_or(scaling.base.config.bisect.budget_gpu_h);
    scaling.layers = config_request(context, arguments);
    scaling.layers.run_file.clear();
    if (scaling.json) scaling.progress = stderr;
    return scaling;
}

/// The trial results of the sizes; a size whose trials all failed has none.
std::map<int, ScalingPoint> points_of(std::vector<ScalingTrial> const& trials) {
    std::map<int, ScalingPoint> points;
    for (auto const& each : trials) {
        if (!each.sets.empty() || !each.failure.empty()) continue;
        auto& point = points[each.nodes];
        point.nodes = each.nodes;
        point.step_s.push_back(each.step_s);
        point.samples_per_step = each.samples_per_step;
        // The parts of a size come from its last trial: they explain, they decide nothing.
        point.components_s = {{"compute", each.split.compute_s},
                              {kExposed, each.split.exposed_comm_s},
                              {kWaiting, each.split.wait_s},
                              {"waiting for data", each.split.data_wait_s},
                              {"other", each.split.other_s}};
        std::erase_if(point.components_s, [](auto const& part) { return std::isnan(part.second); });
        point.collectives_s = each.split.exposed_by_class_s;
    }
    return points;
}

void show_trial(Scaling const& scaling, std::size_t seq, std::string const& what,
                ScalingTrial const& trial) {
    cli::print(scaling.progress, " {:>3}  {:<40} {:>12}\n", seq, what,
               trial.failure.empty() ? format_seconds(trial.step_s) : "failed");
    std::fflush(scaling.progress);
}

/// Runs the sizes upwards, then downwards, so that a drift of the cluster is not mistaken for an
/// effect of size. False: the budget ended it.
Result<bool> measure_sizes(Scaling const& scaling, ScalingTrials& trials) {
    for (int round = 0; round < scaling.repeats; ++round) {
        auto sizes = scaling.sizes;
        if (round % 2 == 1) std::ranges::reverse(sizes);
        for (int const nodes : sizes) {
            OSORA_TRY(auto const trial, trials.measure(nodes, {}));
            if (!trial) return false;
            show_trial(scaling, trials.done().size(), counted(nodes, "node"), *trial);
        }
    }
    return true;
}

/// Seconds per sample and rank, by which two sizes are compared.
std::vector<double> per_work(ScalingPoint const& point) {
    std::vector<double> values;
    for (double const step_s : point.step_s) {
        values.push_back(step_s * point.nodes / point.samples_per_step);
    }
    return values;
}

double p_of(std::map<int, ScalingPoint> const& points, int knee, int largest) {
    auto const a = per_work(points.at(knee)), b = per_work(points.at(largest));
    double const p = db::analysis::changepoint::mann_whitney_p(a, b) / 2;
    return median(b) > median(a) ? p : 1 - p;
}

std::vector<plan::TuneCandidate> remedies_for(Scaling const& scaling) {
    auto const config = config_at(scaling, scaling.sizes.back());
    std::vector<plan::TuneCandidate> list;
    if (config.debug.collectives != "bucketed") {
        list.push_back({.key = "debug.collectives",
                        .values = {"bucketed"},
                        .reason = "fewer and larger collectives"});
    }
    plan::PlanDecision decision;
    constexpr int kBucketMib = 25;
    decision.chosen.grad_bucket_mib = config.parallel.grad_bucket_mib.value_or(kBucketMib);
    std::ranges::move(own_candidates(config, decision), std::back_inserter(list));
    return list;
}

/// Runs pairs at the largest size. False: the budget ended it.
Result<bool> try_remedies(Scaling const& scaling, ScalingTrials& trials, ScalingAnswer& answer) {
    plan::TuneSearch search(remedies_for(scaling), {}, kRemedyTrials);
    int const nodes = scaling.sizes.back();
    cli::print(scaling.progress, "remedies at {} nodes, in pairs\n", nodes);
    while (auto const next = search.next()) {
        auto const trial = trials.measure(nodes, sets_of(next->settings));
        answer.remedies = search.verdicts();
        if (trial.has_error()) return trial.error();
        if (!*trial) return false;
        auto const& done = **trial;
        show_trial(scaling, trials.done().size(),
                   next->with_change ? next->key + "=" + next->value : "as it is", done);
        done.failure.empty() ? search.add(done.step_s) : search.add_failure(done.failure);
    }
    answer.remedies = search.verdicts();
    return true;
}

bool grew_on_the_network(db::analysis::ScalingStep const& step) {
    return step.largest == kExposed || step.largest == kWaiting;
}

/// Records an early end in the answer; error: there is no answer.
Result<void> note_end(Result<bool> const& whole, ScalingAnswer& answer) {
    if (whole.has_value()) {
        if (!*whole) {
            answer.notes.push_back("the budget of GPU-hours is spent: what was not tried is open");
        }
        return {};
    }
    if (whole.error().code != Errc::cancelled) return whole.error();
    answer.stopped = true;
    return {};
}

Result<ScalingAnswer> study(Scaling const& scaling, ScalingTrials& trials) {
    ScalingAnswer answer{.series = scaling.series, .rung = scaling.level()};
    answer.log = trials.id();
    auto const stages = scaling_stage_note(scaling.base.run.summary);
    if (!stages.empty()) answer.notes.push_back(stages);
    auto const measured = measure_sizes(scaling, trials);
    OSORA_TRY_VOID(note_end(measured, answer));
    auto const points = points_of(trials.done());
    std::vector<ScalingPoint> list;
    for (auto const& [nodes, point] : points) list.push_back(point);
    bool const whole = measured.has_value() && *measured;
    if (list.size() >= 2) {
        OSORA_TRY(answer.study, db::analysis::study_scaling(std::move(list)));
        auto const largest = answer.study.steps.back().nodes;
        if (answer.study.has_knee) answer.p = p_of(points, answer.study.knee_nodes, largest);
        bool const low = answer.study.steps.back().efficiency < kEfficiencyLow;
        if (low && whole) {
            OSORA_TRY_VOID(note_end(try_remedies(scaling, trials, answer), answer));
        }
        if (answer.study.has_knee && grew_on_the_network(answer.study.steps.back())) {
            auto const seen = links_beside(scaling.state, scaling.base.hosts, RealEnv().wall_us());
            answer.notes.insert(answer.notes.end(), seen.begin(), seen.end());
        }
    }
    answer.trials = trials.done();
    answer.cost_gpu_s = trials.cost_gpu_s();
    return answer;
}

/// Record for the history.
db::InvestigationEnd end_of(ScalingAnswer const& answer) {
    auto const& study = answer.study;
    db::InvestigationEnd end{.verdict = scaling_verdict(answer), .p = answer.p};
    if (study.has_knee) {
        end.culprits.push_back({.item = "resources.nodes",
                                .good = std::to_string(study.knee_nodes),
                                .bad = std::to_string(study.steps.back().nodes),
                                .share = 1.0,
                                .holds = is_proved(answer)});
    }
    std::ranges::move(judged_settings(answer.remedies), std::back_inserter(end.culprits));
    return end;
}

ScalingCost cost_of(Scaling const& scaling) {
    ScalingCost cost{.series = scaling.series, .rung = scaling.level(), .steps = scaling.steps};
    auto const& base = scaling.base.run.summary.run;
    double const ranks_per_node = double(base.ranks) / std::max(1, base.nodes);
    for (int const nodes : scaling.sizes) {
        double const trial_s = kScalingStartGuess_s + scaling.steps * scaling.base.step_s();
        cost.sizes.push_back({.nodes = nodes,
                              .trials = scaling.repeats,
                              .gpu_s = scaling.repeats * trial_s * nodes * ranks_per_node});
        cost.wall_s += scaling.repeats * trial_s;
    }
    cost.budget_gpu_s = scaling.budget_gpu_s;
    cost.remedies_below = kEfficiencyLow;
    auto const stages = scaling_stage_note(scaling.base.run.summary);
    if (!stages.empty()) cost.notes.push_back(stages);
    return cost;
}

}  // namespace

int bisect_scaling(Context const& context, Arguments const& arguments) {
    auto const scaling = scaling_of(context, arguments);
    if (scaling.has_error()) {
        return fail(scaling.error());
    }
    if (arguments.has("--dry-run")) {
        auto const cost = cost_of(*scaling);
        if (scaling->json) print_json("bisect", scaling_cost_json(cost));
        if (!scaling->json) cli::print("{}", scaling_cost_text(cost));
        return kExitOk;
    }
    auto trials = ScalingTrials::open(context, *scaling);
    if (trials.has_error()) return fail(trials.error());
    cli::print(scaling->progress, "scaling of {} · {} of {} steps, {} of each size, {} scaling{}\n",
               scaling->series, scaling->real ? "training" : "rehearsals", scaling->steps,
               scaling->repeats, scaling->strong ? "strong" : "weak",
               trials->known() == 0
                   ? ""
                   : fmt::format("\n{} trials are known (log {})", trials->known(), trials->id()));
    auto const answer = study(*scaling, *trials);
    if (answer.has_error()) return fail(answer.error());
    if (!answer->stopped) trials->end(end_of(*answer));
    if (scaling->json) {
        print_json("bisect", scaling_answer_json(*answer));
    } else {
        cli::print("{}", scaling_answer_text(*answer));
    }
    if (answer->stopped) return kExitInterrupted;
    return is_proved(*answer) ? kExitOk : kExitUndecided;
}

}  // namespace osora::cli
