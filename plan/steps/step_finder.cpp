// The Trainer of transformers draws a bar without a label and prints a dict with the loss after it:
// the dict shows that the bar counts steps, and belongs to its step. A fast bar is not drawn at
// each step, and Python buffers output to a file: then the loss is dropped.
#include "plan/steps/step_finder.hpp"

#include "base/text/text.hpp"
#include "plan/steps/plain_line.hpp"
#include "plan/steps/progress_bar.hpp"
#include "plan/steps/step_figures.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <string>

namespace osora::plan {
namespace {

constexpr double kDrawnEachStep_s = 0.25;  // tqdm draws at most every 0.1 s

/// "{'loss': 6.26, 'learning_rate': 0.001, 'epoch': 0.02}", but not the totals at the end.
bool is_trainer_record(std::string_view plain) {
    auto const begin = plain.find('{');
    if (begin == std::string_view::npos) return false;
    auto const record = plain.substr(begin);
    return (holds(record, "'loss':") || holds(record, "\"loss\":")) && holds(record, "epoch") &&
           !holds(record, "eval_loss") && !holds(record, "train_runtime");
}

/// "'epoch': '0.9'"
std::optional<double> epoch_of(std::string_view record) {
    auto const word = record.find("epoch");
    if (word == std::string_view::npos) return std::nullopt;
    auto const at = record.find_first_not_of("epoch\"': ", word);
    return at == std::string_view::npos ? std::nullopt : leading_number<double>(record.substr(at));
}

std::optional<std::pair<double, double>> loss_and_epoch(std::string_view record) {
    StepFigures figures;
    read_losses(record, figures);
    auto const epoch = epoch_of(record);
    if (!figures.contains("loss") || !epoch) return std::nullopt;
    return std::pair(figures.at("loss"), *epoch);
}

void merge(StepFigures& into, StepFigures const& newer) {
    for (auto const& [name, value] : newer) into[name] = value;
}

}  // namespace

bool StepFinder::may_be(std::string_view line) {
    if (!may_be_step(line)) return false;
    bar_.reset();
    unconfirmed_.clear();
    record_before_ = false;
    return true;
}

std::optional<StepFigures> StepFinder::find(std::string_view line) {
    PlainLine const text(line);
    std::string_view const plain = text.view();
    if (!may_tell_step(plain)) return std::nullopt;
    auto found = find_step_in_plain(plain);
    if (!found) found = plain_bar(plain);
    bool const may_hold_record = !found || found->is_bar;
    std::optional<StepFigures> complete;
    if (found) complete = take(std::move(*found));
    if (may_hold_record) take_record(plain);
    return complete;
}

std::optional<StepFigures> StepFinder::earlier() {
    if (!confirmed_ || unconfirmed_.empty()) return std::nullopt;
    StepFigures figures{{"step", unconfirmed_.front().step},
                        {"time_s", unconfirmed_.front().time_s}};
    unconfirmed_.pop_front();
    return figures;
}

std::optional<StepFigures> StepFinder::end() {
    return std::exchange(pending_, std::nullopt);
}

/// Another counter is followed if nothing more reliable exists.
bool StepFinder::is_followed(FoundStep const& found) {
    bool const better = counter_.empty() || (found.sure && !sure_) || strangers_ >= kStrangersMax;
    if (found.counter != counter_ && !better) {
        ++strangers_;
        return false;
    }
    if (found.counter != counter_) pending_.reset();
    counter_ = found.counter;
    sure_ = sure_ || found.sure;
    strangers_ = 0;
    return true;
}

std::optional<StepFigures> StepFinder::take(FoundStep found) {
    if (!found.is_bar && pending_ && pending_->at("step") == found.figures.at("step")) {
        found.figures.erase(std::string(kMaybeTime));
        merge(*pending_, found.figures);
        return std::nullopt;
    }
    if (!is_followed(found)) return std::nullopt;
    if (!found.is_bar && is_printed_twice(found)) return std::nullopt;
    if (found.is_bar) return take_bar(std::move(found));
    resolve_time(found.figures);
    return std::move(found.figures);
}

std::optional<StepFigures> StepFinder::take_bar(FoundStep found) {
    record_before_ = false;
    if (pending_ && pending_->at("step") == found.figures.at("step")) {
        merge(*pending_, found.figures);
        return std::nullopt;
    }
    return std::exchange(pending_, std::move(found.figures));
}

/// The line of an engine, while the trainer reports the same steps later with their figures.
bool StepFinder::is_printed_twice(FoundStep const& found) {
    double const step = found.figures.at("step");
    if (!found.bare) {
        trainer_tells_ = trainer_tells_ || step == bare_step_;
        bare_lines_ = 0;
        return false;
    }
    bare_step_ = step;
    return trainer_tells_ && ++bare_lines_ <= kBareLinesMax;
}

/// A bar with only a count: a step if its total is known to be that of steps.
std::optional<FoundStep> StepFinder::plain_bar(std::string_view plain) {
    std::optional<ProgressBar> bar;
    try {
        bar = last_bar(plain);
    } catch (std::exception const&) {
        return std::nullopt;
    }
    if (!bar || kind_of(*bar) != BarKind::unlabelled || bar->count == 0 || !bar->time_s) return {};
    if (confirmed_total_ == 0) keep_unconfirmed(static_cast<double>(bar->count), bar->total);
    bar_ = PlainBar{static_cast<double>(bar->count), *bar->time_s, bar->total};
    record_before_ = false;
    if (bar->total == 0 || bar->total != confirmed_total_) return std::nullopt;
    FoundStep step;
    step.figures = {{"step", bar_->step}, {"time_s", bar_->time_s}};
    step.counter = "trainer";
    step.is_bar = true;
    step.sure = true;
    return step;
}

/// `bar_` is superseded by a picture of `count` of `total`.
void StepFinder::keep_unconfirmed(double count, std::int64_t total) {
    bool const goes_on = bar_ && bar_->total == total && bar_->step <= count;
    if (!goes_on) unconfirmed_.clear();
    if (goes_on && bar_->step < count) unconfirmed_.push_back(*bar_);
    if (unconfirmed_.size() > kUnconfirmedMax) unconfirmed_.pop_front();
}

void StepFinder::take_record(std::string_view plain) {
    if (!is_trainer_record(plain)) return;
    std::string_view const record = plain.substr(plain.find('{'));
    auto const shown = loss_and_epoch(record);
    bool const again = shown && shown == record_;  // LLaMA-Factory logs it, the Trainer prints it
    bunched_ = bunched_ || (record_before_ && !again);
    record_before_ = true;
    record_ = shown;
    if (bunched_ && pending_) {
        for (auto const* each : {"loss", "lr", "grad_norm"}) pending_->erase(each);
    }
    if (bar_ && bar_->total > 0 && !pending_ && (counter_.empty() || counter_ == "trainer")) {
        confirmed_ = confirmed_total_ == 0;
        confirmed_total_ = bar_->total;
        counter_ = "trainer";
        sure_ = true;
        pending_ = StepFigures{{"step", bar_->step}, {"time_s", bar_->time_s}};
    }
    bool const slow =
        pending_ && pending_->contains("time_s") && pending_->at("time_s") >= kDrawnEachStep_s;
    if (slow && !bunched_) read_losses(record, *pending_);
}

/// "time 12.5 s" is of one step unless it grows with the steps; until that is known there is no
/// time.
void StepFinder::resolve_time(StepFigures& figures) {
    auto const maybe = figures.find(kMaybeTime);
    if (maybe == figures.end()) return;
    double const time_s = maybe->second, step = figures.at("step");
    figures.erase(maybe);
    bool const fell = last_maybe_ && step > last_maybe_->first && time_s < last_maybe_->second;
    maybe_is_step_ = maybe_is_step_ || fell;
    last_maybe_ = {step, time_s};
    if (maybe_is_step_ && !figures.contains("time_s")) figures["time_s"] = time_s;
}

}  // namespace osora::plan
