#include "cli/bisect_scaling.hpp"

#include "base/files.hpp"
#include "base/robust.hpp"
#include "base/units.hpp"
#include "cli/bisect_inputs.hpp"
#include "cli/exit_code.hpp"
#include "cli/history_access.hpp"
#include "cli/json_output.hpp"
#include "cli/run_file_command.hpp"
#include "cli/scaling_text.hpp"
#include "cli/trial_log.hpp"
#include "cli/trial_run.hpp"
#include "cli/tune_plan.hpp"
#include "db/analysis/changepoint/significance.hpp"
#include "db/queries.hpp"
#include "plan/config/template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace osora::cli {
namespace {

using db::analysis::ScalingPoint;

constexpr int kSteps = 25, kStepsMin = 5, kStepsMax = 100'000;
constexpr int kNodesMax = 65'536;
constexpr int kRepeats = 4;  // of a size; of two sizes that never overlap: p = 1/70
constexpr int kRemedyTrials = 40;
/// Below this efficiency remedies are tried.
constexpr double kEfficiencyLow = 0.9;

struct Scaling {
    BisectSide base;
    std::string series;
    std::vector<int> sizes;  // nodes, ascending
    int steps = kSteps;
    bool strong = false, real = false, json = false;
    plan::ConfigRequest layers;
    std::filesystem::path state;
    std::FILE* progress = stdout;
};

struct Measured {
    std::map<int, ScalingPoint> points;
    double cost_gpu_s = 0;
    int trials = 0;
    int exit_code = kExitOk;
    std::string failure;
};

/// The newest run of the series that has steps to stand for it.
Result<std::string> newest_run(db::Store& store, std::string const& series) {
    OSORA_TRY(auto const runs, db::load_series(store, series));
    for (auto each = runs.rbegin(); each != runs.rend(); ++each) {
        auto const& measured = each->summary.measured;
        if (measured && measured->steps_used > 0) return each->summary.run.uuid;
    }
    return Error{Errc::not_found,
                 fmt::format("series {}: no run has steps behind its warm-up", series)};
}

int largest_size(db::Store& store, std::string const& series) {
    int largest = 1;
    auto const runs = db::load_series(store, series);
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
    OSORA_TRY(scaling.base, load_side(*history.store, run));
    OSORA_TRY(auto const nodes, arguments.number("--nodes", 2, kNodesMax));
    OSORA_TRY(auto const steps, arguments.number("--steps", kStepsMin, kStepsMax));
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
    scaling.steps = steps.value_or(kSteps);
    scaling.strong = arguments.has("--strong");
    scaling.real = arguments.has("--real");
    scaling.json = arguments.has("--json");
    scaling.layers = config_request(context, arguments);
    scaling.layers.run_file.clear();
    if (scaling.json) scaling.progress = stderr;
    return scaling;
}

/// The base run's settings at another size: the batch of a rank stays, or with --strong the global
/// batch.
Result<plan::RunConfig> config_at(Scaling const& scaling, int nodes) {
    OSORA_TRY(auto config, protocol::from_json<plan::RunConfig>(scaling.base.config));
    auto const& base = scaling.base.run.summary;
    if (base.plan && !base.plan->buckets.empty()) {
        int const batch = base.plan->buckets.front().global_batch_size;
        int const of_node = std::max(1, batch / std::max(1, base.run.nodes));
        config.batch.global_batch_size = scaling.strong ? batch : of_node * nodes;
        config.batch.max = std::max(config.batch.max, of_node * nodes);
    }
    config.resources.nodes = nodes;
    config.resources.spares = 0;
    return config;
}

TrialEnd run_at(Context const& context, Scaling const& scaling, int nodes,
                std::vector<std::string> const& sets, TrialLog& log) {
    TrialEnd refused{.exit_code = kExitUsage};
    auto const config = config_at(scaling, nodes);
    auto start = trial_start(scaling.base, scaling.base, {}, context.environment, {});
    if (config.has_error() || start.has_error()) {
        refused.failure = config.has_error() ? config.error().message : start.error().message;
        return refused;
    }
    auto const path = scaling.state / "bisects" / "scaling.toml";
    std::error_code ignored;  // writing says what is wrong
    std::filesystem::create_directories(path.parent_path(), ignored);
    auto const title = fmt::format("# A trial of osora bisect --scaling {}.", scaling.series);
    auto const written =
        write_file_atomic(path, plan::run_file_text(*config, title, plan::LiveKeys::changed), 0600);
    if (written.has_error()) {
        refused.failure = written.error().message;
        return refused;
    }
    auto request = scaling.layers;
    request.run_file = path;
    auto const job = scaling.real ? scaling.base.run.summary.run.job : std::string("rehearse");
    request.sets = trial_settings(job, scaling.series + "-bisect", scaling.steps);
    request.sets.insert(request.sets.end(), sets.begin(), sets.end());
    Context own = context;
    own.environment = std::move(start->environment);
    auto end = run_trial(own, request);
    std::vector<std::string> changed{fmt::format("resources.nodes={}", nodes)};
    changed.insert(changed.end(), sets.begin(), sets.end());
    log.add(end, std::move(changed));
    return end;
}

void keep(TrialEnd const& end, int nodes, Measured& into) {
    auto& point = into.points[nodes];
    point.nodes = nodes;
    point.step_s.push_back(end.step_s);
    point.samples_per_step = end.samples_per_step;
    auto const known = [](double seconds) { return std::isnan(seconds) ? 0 : seconds; };
    // The last trial of a size stands for its parts: they explain, they decide nothing.
    point.components_s = {{"compute", known(end.split.compute_s)},
                          {"exposed communication", known(end.split.exposed_comm_s)},
                          {"waiting for slower ranks", known(end.split.wait_s)},
                          {"waiting for data", known(end.split.data_wait_s)},
                          {"other", known(end.split.other_s)}};
}

/// Up and down the sizes, so that a drift of the cluster does not look like a size.
Measured measure_sizes(Context const& context, Scaling const& scaling, TrialLog& log) {
    Measured measured;
    for (int round = 0; round < kRepeats; ++round) {
        auto sizes = scaling.sizes;
        if (round % 2 == 1) std::ranges::reverse(sizes);
        for (int const nodes : sizes) {
            auto const end = run_at(context, scaling, nodes, {}, log);
            ++measured.trials;
            measured.cost_gpu_s += end.wall_s * std::max(1, end.ranks);
            fmt::print(scaling.progress, " {:>3}  {:>5} nodes  {:>12}\n", measured.trials, nodes,
                       end.failure.empty() ? format_seconds(end.step_s) : "failed");
            std::fflush(scaling.progress);
            if (!end.failure.empty()) {
                measured.exit_code = end.exit_code;
                measured.failure = fmt::format("{} nodes: {}", nodes, end.failure);
                return measured;
            }
            keep(end, nodes, measured);
        }
    }
    return measured;
}

/// Seconds of a sample and rank-second: what two sizes are compared by.
std::vector<double> per_work(ScalingPoint const& point) {
    std::vector<double> values;
    for (double const step_s : point.step_s) {
        values.push_back(step_s * point.nodes / point.samples_per_step);
    }
    return values;
}

double p_of(Measured const& measured, int knee, int largest) {
    auto const a = per_work(measured.points.at(knee)), b = per_work(measured.points.at(largest));
    double const p = db::analysis::changepoint::mann_whitney_p(a, b) / 2;
    return median(b) > median(a) ? p : 1 - p;
}

std::vector<plan::TuneCandidate> remedies_for(Scaling const& scaling) {
    auto const config = config_at(scaling, scaling.sizes.back());
    if (config.has_error()) return {};
    std::vector<plan::TuneCandidate> list;
    if (config->debug.collectives != "bucketed") {
        list.push_back({.key = "debug.collectives",
                        .values = {"bucketed"},
                        .reason = "fewer and larger collectives"});
    }
    plan::PlanDecision decision;
    constexpr int kBucketMib = 25;
    decision.chosen.grad_bucket_mib = config->parallel.grad_bucket_mib.value_or(kBucketMib);
    std::ranges::move(own_candidates(*config, decision), std::back_inserter(list));
    return list;
}

/// Exit code of the last trial.
int try_remedies(Context const& context, Scaling const& scaling, ScalingAnswer& answer,
                 TrialLog& log) {
    plan::TuneSearch search(remedies_for(scaling), {}, kRemedyTrials);
    int const nodes = scaling.sizes.back();
    fmt::print(scaling.progress, "remedies at {} nodes, in pairs\n", nodes);
    int exit_code = kExitOk;
    while (auto const trial = search.next()) {
        auto const sets = sets_of(trial->settings);
        auto const end = run_at(context, scaling, nodes, sets, log);
        ++answer.trials;
        answer.cost_gpu_s += end.wall_s * std::max(1, end.ranks);
        fmt::print(scaling.progress, " {:>3}  {:<40} {:>12}\n", answer.trials,
                   trial->with_change ? trial->key + "=" + trial->value : "as it is",
                   end.failure.empty() ? format_seconds(end.step_s) : "failed");
        std::fflush(scaling.progress);
        exit_code = end.exit_code;
        if (exit_code == kExitInterrupted) break;
        end.failure.empty() ? search.add(end.step_s) : search.add_failure(end.failure);
    }
    answer.remedies = search.verdicts();
    return exit_code;
}

/// For history.
db::InvestigationEnd scaling_end(ScalingAnswer const& answer) {
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

}  // namespace

int bisect_scaling(Context const& context, Arguments const& arguments) {
    auto const scaling = scaling_of(context, arguments);
    if (scaling.has_error()) {
        return fail(exit_code_for(scaling.error().code), scaling.error().message);
    }
    fmt::print(scaling->progress, "scaling of {} · {} of {} steps, {} of each size, {} scaling\n",
               scaling->series, scaling->real ? "training" : "rehearsals", scaling->steps, kRepeats,
               scaling->strong ? "strong" : "weak");
    TrialLog log(scaling->state, "scaling", scaling->series);
    log.question() = {.bad = scaling->base.run.summary.run.uuid,
                      .rung = scaling->real ? "run" : "rehearsal",
                      .steps = scaling->steps};
    auto const measured = measure_sizes(context, *scaling, log);
    if (!measured.failure.empty()) return fail(measured.exit_code, measured.failure);
    std::vector<ScalingPoint> points;
    for (auto const& [nodes, point] : measured.points) points.push_back(point);
    auto study = db::analysis::study_scaling(std::move(points));
    if (study.has_error()) return fail(kExitBad, study.error().message);
    ScalingAnswer answer{.series = scaling->series,
                         .rung = scaling->real ? "run" : "rehearsal",
                         .study = std::move(*study),
                         .p = std::nan(""),
                         .remedies = {},
                         .cost_gpu_s = measured.cost_gpu_s,
                         .trials = measured.trials};
    if (answer.study.has_knee) {
        answer.p = p_of(measured, answer.study.knee_nodes, scaling->sizes.back());
    }
    if (answer.study.steps.back().efficiency < kEfficiencyLow) {
        answer.stopped = try_remedies(context, *scaling, answer, log) == kExitInterrupted;
    }
    if (!answer.stopped) log.end(scaling_end(answer));
    if (scaling->json) {
        print_json("bisect", scaling_answer_json(answer));
    } else {
        fmt::print("{}", scaling_answer_text(answer));
    }
    if (answer.stopped) return kExitInterrupted;
    return is_proved(answer) ? kExitOk : kExitUndecided;
}

}  // namespace osora::cli
