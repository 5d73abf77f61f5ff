#include "cli/run/follow/follow_core.hpp"

#include "cli/run/stop_text.hpp"
#include "protocol/steps/measurement.hpp"

#include <fmt/format.h>

#include <variant>

namespace osora::cli {

bool FollowCore::is_shown(protocol::JournalRecord const& record) const {
    // Measurements are the most frequent records, and none changes the state.
    if (protocol::holds_measurement(record.event) || view_.records < rules_.known_records) {
        return false;
    }
    bool const is_answer_to_us =
        interrupts_ > 0 && std::holds_alternative<protocol::StopRequested>(record.event);
    return !is_answer_to_us || rules_.json;
}

std::string FollowCore::interrupt() {
    ++interrupts_;
    if (!rules_.is_mine) {
        left_ = true;
        return fmt::format("detached; run {0} continues (osora watch {0}, osora cancel {0})",
                           rules_.number);
    }
    if (interrupts_ == 1) {
        if (rules_.quiet) return "stopping (Ctrl-C again: now)";
        return stopping(view_.status, "this step") + " (Ctrl-C again: now)";
    }
    if (interrupts_ == 2) return "stopping now";
    left_ = true;
    return "leaving; the controller ends the run by itself";
}

std::optional<protocol::ControlStop> FollowCore::stop_due() {
    if (interrupts_ > 0) {
        if (!rules_.is_mine || interrupts_ == accepted_) return std::nullopt;
        return protocol::ControlStop{.now = interrupts_ > 1, .reason = "Ctrl-C"};
    }
    if (timed_ || !has_enough_steps()) return std::nullopt;
    return protocol::ControlStop{.reason = fmt::format("{} steps are enough", rules_.enough_steps)};
}

void FollowCore::stop_accepted() {
    if (interrupts_ > 0) {
        accepted_ = interrupts_;
    } else {
        timed_ = true;
    }
}

bool FollowCore::may_continue() const {
    return interrupts_ == 0 && !timed_ && view_.status.verdict != protocol::Verdict::ok;
}

std::string FollowCore::lost_text(std::string cause, std::string const& last_lines) const {
    if (view_.records == 0) return last_lines.empty() ? cause : cause + ":\n" + last_lines;
    int const step = view_.status.checkpoint_step;
    auto const from = step < 0 ? std::string("the start") : fmt::format("checkpoint {}", step);
    return fmt::format("{}\nits ranks end within 5 s; {} from {}", cause,
                       resume_hint(view_.status, rules_.number), from);
}

/// A user's program may train for days; a trial needs its first steps only.
bool FollowCore::has_enough_steps() {
    if (rules_.enough_steps == 0 || view_.recent_steps.empty()) return false;
    if (first_step_ < 0) first_step_ = view_.recent_steps.front().step;
    return view_.steps_done - first_step_ >= rules_.enough_steps;
}

}  // namespace osora::cli
