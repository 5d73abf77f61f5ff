#include "plan/tune/pass_tuning.hpp"

#include "base/check.hpp"
#include "base/robust.hpp"
#include "base/text/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::plan {
namespace {

/// A pair whose change makes the step so much longer needs no others.
constexpr double kClearlySlower = 1.2;

std::string bytes(double count) {
    return format_bytes(static_cast<std::int64_t>(count));
}

std::string difference(PassSetting const& from, PassSetting const& to) {
    std::string text;
    if (from.micro_batch_size != to.micro_batch_size)
        text = fmt::format("micro-batch {} -> {}", from.micro_batch_size, to.micro_batch_size);
    if (from.recomputed_blocks != to.recomputed_blocks)
        text += fmt::format("{}recomputed blocks {} -> {}", text.empty() ? "" : ", ",
                            from.recomputed_blocks, to.recomputed_blocks);
    return text;
}

}  // namespace

PassTuning::PassTuning(PassSetting const& planned, PassLimits const& limits)
    : current_(planned), limits_(limits), tried_{planned} {
    current_.micro_batch_size = std::clamp<std::int64_t>(planned.micro_batch_size, 1,
                                                         std::max<std::int64_t>(1, limits.samples));
    tried_.front() = current_;
    if (limits.tunes_recompute && limits.can_go_back && limits.memory_bytes > 0)
        moves_ = {Move::no_recompute, Move::half_recompute};
    if (limits.tunes_micro_batch) moves_.insert(moves_.end(), {Move::larger, Move::smaller});
    settling_ = 2;
    without_recompute_ = current_.micro_batch_size;
}

PassTuning PassTuning::finished(PassSetting const& found) {
    PassTuning tuning;
    tuning.current_ = found;
    tuning.done_ = true;
    return tuning;
}

bool PassTuning::add_step(double seconds, double peak_bytes, double resident_bytes) {
    if (done_) return false;
    double& peak = trying() ? figures_.with_peak_bytes : figures_.before_peak_bytes;
    peak = std::max(peak, peak_bytes);
    figures_.resident_bytes = std::max(figures_.resident_bytes, resident_bytes);
    if (settling_ > 0) {
        --settling_;
        return false;
    }
    seconds_.push_back(seconds);
    if (seconds_.size() + 1 < static_cast<std::size_t>(kSteps)) return false;
    (trying() ? figures_.with_s : figures_.before_s) = median(seconds_);
    seconds_.clear();
    settling_ = 1;
    if (!candidate_ || second_half_) return true;
    second_half_ = true;
    with_candidate_ = !with_candidate_;
    return false;
}

std::optional<PassSetting> PassTuning::after(Move move) const {
    PassSetting next = current_;
    switch (move) {
        case Move::no_recompute:
            next.micro_batch_size = without_recompute_;
            next.recomputed_blocks = 0;
            break;
        case Move::half_recompute:
            next.recomputed_blocks /= 2;
            break;
        case Move::larger:
            next.micro_batch_size = std::min(2 * next.micro_batch_size, limits_.samples);
            break;
        case Move::smaller:
            next.micro_batch_size = (next.micro_batch_size + 1) / 2;
            break;
    }
    if (next.micro_batch_size < 1 || std::ranges::find(tried_, next) != tried_.end()) return {};
    return next;
}

double PassTuning::expected_bytes(PassSetting const& setting) const {
    double const ratio = static_cast<double>(setting.micro_batch_size) /
                         static_cast<double>(current_.micro_batch_size);
    return resident_bytes_ + ratio * (peak_bytes_ - resident_bytes_);
}

bool PassTuning::fits(PassSetting const& setting) {
    if (setting.recomputed_blocks < current_.recomputed_blocks) return true;  // found out by trying
    bool const from_one_pass = setting.micro_batch_size < current_.micro_batch_size &&
                               current_.micro_batch_size >= limits_.samples;
    if (from_one_pass && limits_.keeps_sums && !limits_.can_go_back) return false;
    if (setting.micro_batch_size <= current_.micro_batch_size) return true;
    double const expected = expected_bytes(setting);
    auto const most = static_cast<double>(limits_.memory_bytes);
    if (expected <= most) return true;
    not_tried_ = most > 0 ? fmt::format("; micro-batch {} was not tried: it may need {} of {}",
                                        setting.micro_batch_size, bytes(expected), bytes(most))
                          : fmt::format(
                                "; micro-batch {} was not tried: the plan does not know "
                                "the memory of a rank",
                                setting.micro_batch_size);
    return false;
}

void PassTuning::start_pair() {
    with_candidate_ = starts_with_change(static_cast<int>(pairs_.size()));
    second_half_ = false;
    seconds_.clear();
    settling_ = 1;
    figures_ = {};
}

void PassTuning::end_trial() {
    candidate_.reset();
    with_candidate_ = false;
    pairs_.clear();
    seconds_.clear();
    figures_ = {};
}

void PassTuning::choose_next() {
    end_trial();
    while (!moves_.empty() && trials_ < kTrialsMax) {
        move_ = moves_.front();
        moves_.erase(moves_.begin());
        auto const next = after(move_);
        if (!next || !fits(*next)) continue;
        candidate_ = next;
        tried_.push_back(*next);
        ++trials_;
        with_peak_bytes_ = 0;
        start_pair();
        return;
    }
    done_ = true;
}

PassChange PassTuning::end_of_trial(Ended how, std::string const& why) {
    PassChange change{.from = current_, .to = current_, .text = {}, .last = false};
    change.text = fmt::format("{}: {}", difference(current_, *candidate_), why);
    if (how == Ended::kept) {
        change.to = current_ = *candidate_;
        peak_bytes_ = with_peak_bytes_;
        change.text += fmt::format("; kept, peak {}", bytes(peak_bytes_));
        if (move_ == Move::larger) std::erase(moves_, Move::smaller);
        if (move_ == Move::no_recompute) std::erase(moves_, Move::half_recompute);
        bool const again = move_ == Move::larger || move_ == Move::smaller;
        if (again) moves_.insert(moves_.begin(), move_);
    } else {
        change.text += "; not kept";
        bool const smaller = how == Ended::too_large && move_ == Move::no_recompute &&
                             limits_.tunes_micro_batch && without_recompute_ > 1;
        if (smaller) {  // a smaller micro-batch may fit without recomputing
            without_recompute_ /= 2;
            moves_.insert(moves_.begin(), move_);
        }
    }
    choose_next();
    return ended(std::move(change));
}

PassChange PassTuning::ended(PassChange change) const {
    change.last = done_;
    if (!done_) return change;
    change.text += fmt::format(
        "{}Ended after {} trial{}: micro-batch {}, recomputed blocks {}, steps take {:.2f} of the "
        "planned setting's time{}",
        change.text.empty() ? "" : ". ", trials_, trials_ == 1 ? "" : "s",
        current_.micro_batch_size, current_.recomputed_blocks, time_ratio_, not_tried_);
    return change;
}

std::optional<PassChange> PassTuning::compare(PassFigures const& largest) {
    OSORA_CHECK(!done_);
    if (!candidate_) {
        peak_bytes_ = largest.before_peak_bytes;
        resident_bytes_ = largest.resident_bytes;
        choose_next();
        if (!done_) return {};
        return ended({.from = current_, .to = current_, .text = {}, .last = true});
    }
    pairs_.push_back({.without_s = largest.before_s, .with_s = largest.with_s});
    with_peak_bytes_ = std::max(with_peak_bytes_, largest.with_peak_bytes);
    double const ratio = largest.before_s > 0 ? largest.with_s / largest.before_s : 1;
    if (ratio > kClearlySlower)
        return end_of_trial(Ended::slower,
                            fmt::format("costs {:.0f} % of the step", 100 * (ratio - 1)));
    bool const more = candidate_->micro_batch_size > current_.micro_batch_size ||
                      candidate_->recomputed_blocks < current_.recomputed_blocks;
    auto const most = static_cast<double>(limits_.memory_bytes);
    if (more && most > 0 && with_peak_bytes_ > most)
        return end_of_trial(Ended::too_large,
                            fmt::format("takes {} of {}", bytes(with_peak_bytes_), bytes(most)));
    AbDecision const decision = judge_ab(pairs_);
    if (decision.verdict == AbVerdict::undecided) {
        start_pair();
        return {};
    }
    bool const keep = decision.verdict == AbVerdict::better;
    if (keep) time_ratio_ *= 1 - decision.gain;
    return end_of_trial(keep ? Ended::kept : Ended::slower, decision.reason);
}

PassChange PassTuning::failed(std::string const& why) {
    OSORA_CHECK(trying());
    return end_of_trial(Ended::too_large, "does not fit: " + why);
}

void PassTuning::stop() {
    end_trial();
    done_ = true;
}

}  // namespace osora::plan
