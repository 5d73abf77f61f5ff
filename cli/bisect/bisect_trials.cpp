#include "cli/bisect/bisect_trials.hpp"

#include "base/files/files.hpp"
#include "base/robust.hpp"
#include "cli/bisect/bisect_atoms.hpp"
#include "cli/command/print.hpp"
#include "cli/text/terminal.hpp"
#include "cli/trial/trial_run.hpp"
#include "plan/config/template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace osora::cli {

using namespace db::analysis;

namespace {

/// A level whose trials show less than this share of the gap is too low.
constexpr double kReproduced = 0.8;

}  // namespace

Trials::Trials(Context const& context, Bisection const& bisection, CommitRunner& commits,
               TrialLog log, SearchStep step)
    : context_(context),
      bisection_(bisection),
      commits_(commits),
      log_(std::move(log)),
      step_(std::move(step)),
      known_(log_.trials()) {}

Result<TrialOutcome> Trials::measure(Trial const& trial) {
    auto const bits = bits_of(trial.flipped);
    auto const index = static_cast<std::size_t>(trial.seq - 1);
    if (index < known_.size()) {
        if (known_[index].flipped == bits) return outcome_of(known_[index]);
        return Error{Errc::corrupt, "the log holds other trials; --anew measures again"};
    }
    if (auto const* before = measured_before(bits); before != nullptr) {
        db::InvestigatedTrial again = *before;
        again.flipped = bits;
        again.changed = changed_names(bisection_.plan, step_, trial.flipped);
        again.cost_gpu_s = 0;
        OSORA_TRY_VOID(log_.add(again));
        return outcome_of(again);
    }
    if (is_too_low()) return Error{Errc::not_found, "this rung does not show the gap"};
    auto done = run(trial);
    if (done.has_error()) {
        interrupted_ = done.error().code == Errc::cancelled;
        return done.error();
    }
    done->flipped = bits;
    done->changed = changed_names(bisection_.plan, step_, trial.flipped);
    if (interrupted_) return Error{Errc::cancelled, "stopped"};
    OSORA_TRY_VOID(log_.add(*done));
    return outcome_of(*done);
}

/// Index of the next such trial that this search has not used, from this call or an earlier one.
db::InvestigatedTrial const* Trials::measured_before(std::string const& bits) const {
    auto const found = step_.measured.find(bits);
    if (found == step_.measured.end()) return nullptr;
    auto const taken = static_cast<std::size_t>(
        std::ranges::count(log_.trials(), bits, &db::InvestigatedTrial::flipped));
    return taken < found->second.size() ? &found->second[taken] : nullptr;
}

void Trials::note(TrialRecord const& record) {
    if (record.trial.phase == TrialPhase::baseline) {
        auto const& flipped = record.trial.flipped;
        bool const all = std::ranges::find(flipped, false) == flipped.end();
        (all ? bad_s_ : good_s_).push_back(record.outcome.value_s);
    }
    auto const& plan = bisection_.plan;
    cli::print(bisection_.progress, "{}",
               step_.is_path ? commit_trial_line(plan, record) : bisect_trial_line(plan, record));
    std::fflush(bisection_.progress);
}

void Trials::end(db::InvestigationEnd end) {
    auto const written = log_.end(std::move(end));
    if (written.has_error()) cli::print(stderr, "note: {}\n", written.error().message);
}

/// The share of the recorded gap that the baseline trials show.
double Trials::reproduced() const {
    if (good_s_.empty() || bad_s_.empty()) return 0;
    double const gap_s = bisection_.plan.bad_s - bisection_.plan.good_s;
    return (median(bad_s_) - median(good_s_)) / gap_s;
}

/// Whether the baseline is measured and shows that a higher level is needed.
bool Trials::is_too_low() {
    auto const needed = static_cast<std::size_t>(bisection_.options.baseline_trials);
    bool const measured = good_s_.size() >= needed && bad_s_.size() >= needed;
    too_low_ = step_.may_be_too_low && measured && reproduced() < kReproduced;
    return too_low_;
}

TrialOutcome Trials::outcome_of(db::InvestigatedTrial const& trial) const {
    TrialStatus status = TrialStatus::aborted;
    boost::describe::enum_from_string(trial.status.c_str(), status);
    bool const is_known = status == TrialStatus::measured && trial.cost_gpu_s == 0;
    return {status, trial.value_s, trial.cost_gpu_s, is_known ? kFromHistory : step_.level()};
}

Result<db::InvestigatedTrial> Trials::run(Trial const& trial) {
    auto const choice = trial_choice(bisection_.plan, step_, trial.flipped);
    auto start = trial_start(bisection_.good, bisection_.bad, choice, context_.environment,
                             bisection_.available);
    if (start.has_error()) return refused(start.error().message);
    if (choice.state >= 0) {
        OSORA_TRY(auto why, commits_.place(choice.state, *start));
        if (!why.empty()) return refused(std::move(why));
        if (auto const note = commits_.take_note(); !note.empty()) {
            cli::print(bisection_.progress, "      {}\n", printable(note));
        }
    }
    return this->start(std::move(*start));
}

db::InvestigatedTrial Trials::start(TrialStart start) {
    bool const rehearsed = step_.level() == "rehearsal";
    if (rehearsed) set_compute_times(bisection_.good, bisection_.bad, start.config);
    auto const file = write_run_file(start.config);
    if (file.has_error()) return refused(file.error().message);
    auto request = bisection_.layers;
    request.run_file = *file;
    auto const& job = bisection_.bad.run.summary.run.job;
    if (job == "exec") request.base_dir = start.base_dir;
    auto const sets =
        trial_settings(rehearsed ? "rehearse" : job, bisection_.series, bisection_.plan.steps);
    request.sets.insert(request.sets.end(), sets.begin(), sets.end());
    Context context = context_;
    context.environment = std::move(start.environment);
    auto const end = run_trial(context, request);
    interrupted_ = end.exit_code == kExitInterrupted;
    if (!end.failure.empty()) failure_ = end.failure;
    return investigated(end, {});
}

db::InvestigatedTrial Trials::refused(std::string why) {
    failure_ = why;
    return {.status = "cannot_start", .cost_gpu_s = 0, .failure = std::move(why)};
}

/// One file for all trials of a search: each run keeps its own copy.
Result<std::filesystem::path> Trials::write_run_file(plan::RunConfig const& config) const {
    auto const path = log_.run_file();
    auto const title =
        fmt::format("# A trial of osora bisect {} {}.", bisection_.plan.good, bisection_.plan.bad);
    OSORA_TRY_VOID(
        write_file_atomic(path, plan::run_file_text(config, title, plan::LiveKeys::changed), 0600));
    return path;
}

}  // namespace osora::cli
