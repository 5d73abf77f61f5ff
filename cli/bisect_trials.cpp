#include "cli/bisect_trials.hpp"

#include "base/env.hpp"
#include "base/files.hpp"
#include "base/robust.hpp"
#include "cli/bisect_atoms.hpp"
#include "cli/bisect_culprit.hpp"
#include "cli/trial_run.hpp"
#include "plan/config/template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace osora::cli {

using namespace db::analysis;

namespace {

/// A rung whose trials show less of the gap than this is too low.
constexpr double kReproduced = 0.8;

}  // namespace

Trials::Trials(Context const& context, Bisection const& bisection, BisectLog log, std::string rung)
    : context_(context),
      bisection_(bisection),
      log_(std::move(log)),
      rung_(std::move(rung)),
      known_(log_.trials()) {}

Result<TrialOutcome> Trials::measure(Trial const& trial) {
    auto const bits = bits_of(trial.flipped);
    auto const index = static_cast<std::size_t>(trial.seq - 1);
    if (index < known_.size()) {
        if (known_[index].flipped == bits) return outcome_of(known_[index]);
        return Error{Errc::corrupt, "the log holds other trials; --anew measures again"};
    }
    if (is_too_low()) return Error{Errc::not_found, "this rung does not show the gap"};
    LoggedTrial done = run(trial);
    done.flipped = bits;
    if (interrupted_) return Error{Errc::cancelled, "stopped"};
    OSORA_TRY_VOID(log_.add(done));
    return outcome_of(done);
}

void Trials::note(TrialRecord const& record) {
    if (record.trial.phase == TrialPhase::baseline) {
        auto const& flipped = record.trial.flipped;
        bool const all = std::ranges::find(flipped, false) == flipped.end();
        (all ? bad_s_ : good_s_).push_back(record.outcome.value_s);
    }
    fmt::print(bisection_.progress, "{}", bisect_trial_line(bisection_.plan, record));
    std::fflush(bisection_.progress);
}

void Trials::end(BisectResult const& result) {
    db::InvestigationEnd end{
        .wall_us = RealEnv().wall_us(),
        .verdict = boost::describe::enum_to_string(result.verdict, "undecided"),
        .relation = boost::describe::enum_to_string(result.relation, "none"),
        .p = result.proof.p,
        .explained = result.explained,
        .good_s = result.good_s,
        .bad_s = result.bad_s};
    for (auto const& culprit : result.culprits) {
        auto const named = named_culprit(bisection_.plan, culprit);
        end.culprits.push_back({.item = named.name,
                                .good = named.good,
                                .bad = named.bad,
                                .share = culprit.share,
                                .holds = result.verdict == BisectVerdict::proved});
    }
    auto const written = log_.end(end);
    if (written.has_error()) fmt::print(stderr, "note: {}\n", written.error().message);
}

/// Share of the gap in history that the baseline trials show.
double Trials::reproduced() const {
    if (good_s_.empty() || bad_s_.empty()) return 0;
    double const gap_s = bisection_.plan.bad_s - bisection_.plan.good_s;
    return (median(bad_s_) - median(good_s_)) / gap_s;
}

/// Whether the baseline is measured and a higher rung must be climbed.
bool Trials::is_too_low() {
    auto const needed = static_cast<std::size_t>(bisection_.options.baseline_trials);
    bool const trains = bisection_.bad.run.summary.run.job == "train";
    bool const measured = good_s_.size() >= needed && bad_s_.size() >= needed;
    too_low_ = rung_ == "rehearsal" && trains && measured && reproduced() < kReproduced;
    return too_low_;
}

TrialOutcome Trials::outcome_of(LoggedTrial const& trial) const {
    return {trial.status, trial.value_s, trial.cost_gpu_s, rung_};
}

LoggedTrial Trials::run(Trial const& trial) {
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

LoggedTrial Trials::refused(std::string why) {
    failure_ = std::move(why);
    return {.status = TrialStatus::cannot_start};
}

/// One file for all trials of a rung: each run keeps its own copy.
Result<std::filesystem::path> Trials::write_run_file(plan::RunConfig const& config) const {
    auto const path = bisection_.state / "bisects" / (log_.id() + ".toml");
    auto const title =
        fmt::format("# A trial of osora bisect {} {}.", bisection_.plan.good, bisection_.plan.bad);
    OSORA_TRY_VOID(
        write_file_atomic(path, plan::run_file_text(config, title, plan::LiveKeys::changed), 0600));
    return path;
}

}  // namespace osora::cli
