#include "plan/tune/tune_search.hpp"

#include <utility>

namespace osora::plan {

TuneSearch::TuneSearch(std::vector<TuneCandidate> candidates, AbOptions options, int trials_max)
    : candidates_(std::move(candidates)), options_(options), trials_max_(trials_max) {
    std::erase_if(candidates_, [](TuneCandidate const& each) { return each.values.empty(); });
}

TuneSettings TuneSearch::changed() const {
    TuneSettings settings = kept_;
    TuneCandidate const& candidate = candidates_[candidate_];
    settings[candidate.key] = candidate.values[value_];
    for (auto const& [key, value] : candidate.with) settings[key] = value;
    return settings;
}

std::optional<TuneTrial> TuneSearch::next() const {
    if (candidate_ >= candidates_.size() || trials_ >= trials_max_ || !failure_.empty()) {
        return std::nullopt;
    }
    bool const first = !half_.has_value();
    bool const change = starts_with_change(static_cast<int>(pairs_.size())) == first;
    TuneCandidate const& candidate = candidates_[candidate_];
    return TuneTrial{.settings = change ? changed() : kept_,
                     .with_change = change,
                     .key = candidate.key,
                     .value = candidate.values[value_]};
}

void TuneSearch::add(double step_s) {
    auto const trial = next();
    if (!trial) return;
    ++trials_;
    if (!half_) {
        half_ = step_s;
        return;
    }
    double const first = *std::exchange(half_, std::nullopt);
    pairs_.push_back(trial->with_change ? AbPair{first, step_s} : AbPair{step_s, first});
    auto const decision = judge_ab(pairs_, options_);
    bool const last = static_cast<int>(pairs_.size()) >= options_.pairs_max;
    if (decision.verdict != AbVerdict::undecided || last) judge("");
}

void TuneSearch::add_failure(std::string why) {
    auto const trial = next();
    if (!trial) return;
    ++trials_;
    if (!trial->with_change) {
        failure_ = std::move(why);
        return;
    }
    judge(std::move(why));
}

void TuneSearch::judge(std::string failure) {
    TuneCandidate const& candidate = candidates_[candidate_];
    TuneVerdict verdict{.key = candidate.key,
                        .value = candidate.values[value_],
                        .decision = judge_ab(pairs_, options_),
                        .kept = false,
                        .failure = std::move(failure)};
    verdict.kept = verdict.failure.empty() && verdict.decision.verdict == AbVerdict::better;
    if (verdict.kept) kept_ = changed();
    verdicts_.push_back(std::move(verdict));
    go_on();
}

/// A kept value is the base for the next values of the same key.
void TuneSearch::go_on() {
    pairs_.clear();
    half_.reset();
    if (++value_ < candidates_[candidate_].values.size()) return;
    value_ = 0;
    ++candidate_;
}

}  // namespace osora::plan
