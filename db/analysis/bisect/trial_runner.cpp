#include "db/analysis/bisect/trial_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::db::analysis {
namespace {

constexpr int kFailuresMax = 2;  // failures in a row after which a hybrid counts as one that does
                                 // not start

Result<void> check_outcome(Trial const& trial, TrialOutcome const& outcome) {
    if (!std::isfinite(outcome.cost_gpu_s) || outcome.cost_gpu_s < 0) {
        return Error{Errc::invalid_input, fmt::format("trial {}: cost_gpu_s {}: not 0 or more",
                                                      trial.seq, outcome.cost_gpu_s)};
    }
    bool const has_value = std::isfinite(outcome.value_s) && outcome.value_s > 0;
    if (outcome.status == TrialStatus::measured && !has_value) {
        return Error{Errc::invalid_input,
                     fmt::format("trial {}: value_s {}: not above 0", trial.seq, outcome.value_s)};
    }
    return boost::system::in_place_value;
}

}  // namespace

Result<void> TrialRunner::check_budget() const {
    if (static_cast<int>(records_.size()) >= options_.trials_max) {
        return Error{Errc::cancelled,
                     fmt::format("the limit of {} trials is reached", options_.trials_max)};
    }
    if (cost_gpu_s_ + dearest_gpu_s_ > options_.budget_gpu_s) {
        return Error{
            Errc::cancelled,
            fmt::format("{:.2f} of {:.2f} GPU-h are spent, and a trial takes {:.2f}",
                        cost_gpu_s_ / 3600, options_.budget_gpu_s / 3600, dearest_gpu_s_ / 3600)};
    }
    return boost::system::in_place_value;
}

Result<bool> TrialRunner::run(Hybrid const& hybrid, TrialPhase phase, int block) {
    auto& known = known_[hybrid];
    while (known.starts) {
        OSORA_TRY_VOID(check_budget());
        Trial const trial{static_cast<int>(records_.size()) + 1, phase, hybrid, block};
        OSORA_TRY(auto outcome, measure_(trial));
        OSORA_TRY_VOID(check_outcome(trial, outcome));
        cost_gpu_s_ += outcome.cost_gpu_s;
        dearest_gpu_s_ = std::max(dearest_gpu_s_, outcome.cost_gpu_s);
        records_.push_back({trial, outcome, {}});
        if (outcome.status == TrialStatus::measured) {
            known.samples.push_back(outcome.value_s);
            known.failures = 0;
            if (first_value_s_ == 0) first_value_s_ = outcome.value_s;
            return true;
        }
        known.failures += 1;
        known.starts = outcome.status == TrialStatus::aborted && known.failures < kFailuresMax;
        decide(known.starts ? "repeat" : "does not start");
    }
    return false;
}

void TrialRunner::decide(std::string decision) {
    auto& last = records_.back();
    if (!last.decision.empty()) return;  // decided when it was run
    last.decision = std::move(decision);
    if (on_decided_) on_decided_(last);
}

std::vector<double> const& TrialRunner::samples(Hybrid const& hybrid) const {
    static std::vector<double> const none;
    auto const found = known_.find(hybrid);
    return found == known_.end() ? none : found->second.samples;
}

bool TrialRunner::does_not_start(Hybrid const& hybrid) const {
    auto const found = known_.find(hybrid);
    return found != known_.end() && !found->second.starts;
}

Noise TrialRunner::noise() const {
    std::vector<std::vector<double>> groups;
    for (auto const& [hybrid, known] : known_) {
        if (known.samples.size() > 1) groups.push_back(known.samples);
    }
    return noise_of(groups, options_, first_value_s_);
}

}  // namespace osora::db::analysis
