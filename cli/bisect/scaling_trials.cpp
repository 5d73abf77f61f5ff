#include "cli/bisect/scaling_trials.hpp"

#include "base/files/files.hpp"
#include "cli/command/exit_code.hpp"
#include "cli/command/print.hpp"
#include "cli/run/run_secrets.hpp"
#include "plan/config/template.hpp"
#include "protocol/state_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace osora::cli {
namespace {

/// Prefix of figures that are seconds waited for a class of collectives.
std::string const kExposedPrefix = "exposed ";

db::Investigation question_of(Scaling const& scaling) {
    db::Investigation what{.kind = "scaling", .series = scaling.series};
    what.question = {
        .bad = scaling.base.run.summary.run.uuid, .rung = scaling.level(), .steps = scaling.steps};
    for (int const nodes : scaling.sizes) {
        what.question.atoms.push_back(fmt::format("{} nodes", nodes));
    }
    if (scaling.strong) what.question.atoms.emplace_back("strong");
    return what;
}

/// Figures from which a trial is replayed.
std::map<std::string, double> figures_of(ScalingTrial const& trial) {
    auto const& split = trial.split;
    std::map<std::string, double> figures{
        {"nodes", trial.nodes},         {"samples_per_step", trial.samples_per_step},
        {"compute_s", split.compute_s}, {"exposed_comm_s", split.exposed_comm_s},
        {"wait_s", split.wait_s},       {"data_wait_s", split.data_wait_s},
        {"other_s", split.other_s}};
    for (auto const& [name, seconds] : split.exposed_by_class_s) {
        figures[kExposedPrefix + name] = seconds;
    }
    return figures;
}

ScalingTrial played_back(db::InvestigatedTrial const& kept) {
    auto const figure = [&](char const* name) {
        auto const found = kept.figures.find(name);
        return found == kept.figures.end() ? db::kNoFigure : found->second;
    };
    ScalingTrial trial{.step_s = kept.value_s,
                       .cost_gpu_s = kept.cost_gpu_s,
                       .samples_per_step = figure("samples_per_step"),
                       .run = kept.run,
                       .failure = kept.failure};
    double const nodes = figure("nodes");
    trial.nodes = nodes >= 1 && nodes <= 1e6 ? static_cast<int>(nodes) : 0;
    if (kept.changed.size() > 1) trial.sets.assign(kept.changed.begin() + 1, kept.changed.end());
    trial.split = {.compute_s = figure("compute_s"),
                   .exposed_comm_s = figure("exposed_comm_s"),
                   .wait_s = figure("wait_s"),
                   .data_wait_s = figure("data_wait_s"),
                   .other_s = figure("other_s")};
    for (auto const& [name, seconds] : kept.figures) {
        if (!name.starts_with(kExposedPrefix)) continue;
        trial.split.exposed_by_class_s[name.substr(kExposedPrefix.size())] = seconds;
    }
    return trial;
}

}  // namespace

plan::RunConfig config_at(Scaling const& scaling, int nodes) {
    auto config = scaling.base.config;
    auto const& base = scaling.base.run.summary;
    restore_secrets(config, {base.run.run_dir});
    if (base.plan && !base.plan->chosen.buckets.empty()) {
        int const batch = base.plan->chosen.buckets.front().global_batch_size;
        int const of_node = std::max(1, batch / std::max(1, base.run.nodes));
        config.batch.global_batch_size = scaling.strong ? batch : of_node * nodes;
        config.batch.max = std::max(config.batch.max, of_node * nodes);
    }
    config.resources.nodes = nodes;
    config.resources.spares = 0;
    return config;
}

Result<ScalingTrials> ScalingTrials::open(Context const& context, Scaling const& scaling) {
    OSORA_TRY(auto log,
              TrialLog::open(protocol::StatePaths{scaling.state}.bisects(), question_of(scaling),
                             scaling.anew ? LogMode::anew : LogMode::resume));
    return ScalingTrials(context, scaling, std::move(log));
}

ScalingTrials::ScalingTrials(Context const& context, Scaling const& scaling, TrialLog log)
    : context_(&context), scaling_(&scaling), log_(std::move(log)), known_(log_.trials().size()) {}

Result<std::optional<ScalingTrial>> ScalingTrials::measure(int nodes,
                                                           std::vector<std::string> const& sets) {
    ScalingTrial trial;
    if (done_.size() < known_) {
        trial = played_back(log_.trials()[done_.size()]);
        if (trial.nodes != nodes || trial.sets != sets) {
            return Error{Errc::corrupt, "the log holds other trials; --anew measures again"};
        }
    } else if (is_spent(nodes)) {
        return std::optional<ScalingTrial>();
    } else {
        OSORA_TRY(trial, measure_anew(nodes, sets));
        std::vector<std::string> changed{fmt::format("resources.nodes={}", nodes)};
        changed.insert(changed.end(), sets.begin(), sets.end());
        OSORA_TRY_VOID(log_.add({.changed = std::move(changed),
                                 .status = trial.failure.empty() ? "measured" : "aborted",
                                 .value_s = trial.failure.empty() ? trial.step_s : db::kNoFigure,
                                 .cost_gpu_s = trial.cost_gpu_s,
                                 .run = trial.run,
                                 .failure = trial.failure,
                                 .figures = figures_of(trial)}));
    }
    cost_gpu_s_ += trial.cost_gpu_s;
    done_.push_back(trial);
    return std::optional(std::move(trial));
}

void ScalingTrials::end(db::InvestigationEnd end) {
    auto const written = log_.end(std::move(end));
    if (written.has_error()) cli::print(stderr, "note: {}\n", written.error().message);
}

/// Cost estimate from a past trial of that size.
bool ScalingTrials::is_spent(int nodes) const {
    auto const like = std::ranges::find(done_, nodes, &ScalingTrial::nodes);
    double const expected_gpu_s = like == done_.end() ? 0 : like->cost_gpu_s;
    return cost_gpu_s_ + expected_gpu_s > scaling_->budget_gpu_s;
}

Result<ScalingTrial> ScalingTrials::measure_anew(int nodes, std::vector<std::string> const& sets) {
    OSORA_TRY(auto trial, run(nodes, sets));
    if (trial.failure.empty() || !sets.empty()) return trial;
    double const wasted_gpu_s = trial.cost_gpu_s;
    OSORA_TRY(trial, run(nodes, sets));
    trial.cost_gpu_s += wasted_gpu_s;
    if (trial.failure.empty()) return trial;
    return Error{Errc::invalid_input, fmt::format("{} nodes: {}", nodes, trial.failure)};
}

Result<ScalingTrial> ScalingTrials::run(int nodes, std::vector<std::string> const& sets) const {
    auto const& scaling = *scaling_;
    auto const config = config_at(scaling, nodes);
    OSORA_TRY(auto start, trial_start(scaling.base, scaling.base, {}, context_->environment, {}));
    auto const title = fmt::format("# A trial of osora bisect --scaling {}.", scaling.series);
    OSORA_TRY_VOID(write_file_atomic(
        log_.run_file(), plan::run_file_text(config, title, plan::LiveKeys::changed), 0600));
    auto request = scaling.layers;
    request.run_file = log_.run_file();
    auto const job = scaling.real ? scaling.base.run.summary.run.job : std::string("rehearse");
    request.sets = trial_settings(job, scaling.series + "-bisect", scaling.steps);
    request.sets.insert(request.sets.end(), sets.begin(), sets.end());
    Context own = *context_;
    own.environment = std::move(start.environment);
    auto const end = run_trial(own, request);
    if (end.exit_code == kExitInterrupted) return Error{Errc::cancelled, "stopped"};
    return ScalingTrial{.nodes = nodes,
                        .sets = sets,
                        .step_s = end.step_s,
                        .cost_gpu_s = end.wall_s * std::max(1, end.ranks),
                        .samples_per_step = end.samples_per_step,
                        .split = end.split,
                        .run = end.run,
                        .failure = end.failure};
}

}  // namespace osora::cli
