#include "daemon/notify/occasions.hpp"

#include "protocol/failure_id.hpp"
#include "protocol/notice_kinds.hpp"

#include <algorithm>
#include <utility>

namespace osora::daemon {

using namespace protocol;

namespace {

constexpr std::size_t kCauseKeyBytesMax = 200;
constexpr std::size_t kCausesKept = 256;

std::string end_state(Verdict verdict) {
    if (verdict == Verdict::ok) return "done";
    bool const stopped = verdict == Verdict::cancelled || verdict == Verdict::preempted;
    return stopped ? "stopped" : "failed";
}

}  // namespace

std::string cause_key(std::string_view cause) {
    std::string key;
    for (char const c : cause.substr(0, kCauseKeyBytesMax)) {
        bool const digit = c >= '0' && c <= '9';
        if (!digit) {
            key += c;
        } else if (key.empty() || key.back() != '#') {
            key += '#';
        }
    }
    return key;
}

Occasions::Occasions(std::vector<std::string> const& on, std::string series, std::string host)
    : on_end_(std::ranges::count(on, "end") > 0),
      on_failure_(std::ranges::count(on, "failure") > 0),
      on_regression_(std::ranges::count(on, "regression") > 0),
      series_(std::move(series)),
      host_(std::move(host)) {}

void Occasions::replay(JournalRecord const& record) {
    auto const* notice = std::get_if<RunNotice>(&record.event);
    bool const known = notice != nullptr &&
                       (notice->kind == kNotificationNotice || notice->kind == kNotificationFailed);
    if (known) unsent_.reset();
    auto message = take(record);
    if (message && std::holds_alternative<RunEnded>(record.event)) unsent_ = std::move(message);
}

std::optional<NotifyMessage> Occasions::take(JournalRecord const& record) {
    RunState const state = view_.status.state;
    if (std::holds_alternative<ControllerStarted>(record.event)) unsent_.reset();
    int const restarts = view_.status.restarts + view_.status.free_retries;
    fold(view_, record);
    if (std::holds_alternative<RunEnded>(record.event)) {
        return state == RunState::done ? std::nullopt : end(record.wall_us);
    }
    if (view_.status.restarts + view_.status.free_retries > restarts) restart_due_ = true;
    bool const launched = std::holds_alternative<LaunchOrdered>(record.event);
    if (!restart_due_ || (view_.status.cause_is_secondary && !launched)) return std::nullopt;
    restart_due_ = false;
    return restart(record.wall_us);
}

std::optional<NotifyMessage> Occasions::restart(std::int64_t wall_us) {
    std::string const key = cause_key(view_.status.cause);
    auto const known = sent_us_.find(key);
    // A clock that jumps back must not cause a storm.
    bool const lately = known != sent_us_.end() && wall_us < known->second + kSameCauseWindow_us;
    if (lately || (known == sent_us_.end() && sent_us_.size() >= kCausesKept)) return std::nullopt;
    sent_us_[key] = wall_us;
    if (!on_failure_) return std::nullopt;
    NotifyMessage restarted = message(Occasion::failure, wall_us);
    restarted.state = "relaunching";
    return restarted;
}

std::optional<NotifyMessage> Occasions::end(std::int64_t wall_us) const {
    std::string state = end_state(view_.status.verdict);
    bool const failed = state == "failed";
    if (failed ? !on_failure_ : !on_end_) return std::nullopt;
    NotifyMessage ended = message(failed ? Occasion::failure : Occasion::end, wall_us);
    ended.state = std::move(state);
    ended.exit_code = view_.status.exit_code;
    ended.id = failure_id(view_);
    return ended;
}

bool Occasions::wants_regression() const {
    bool const measured = view_.job == "train" || view_.job == "exec";
    return on_regression_ && measured && view_.status.state == RunState::done &&
           view_.status.verdict == Verdict::ok;
}

std::optional<NotifyMessage> Occasions::regression(std::string state, std::string reason,
                                                   std::int64_t wall_us) const {
    if (!wants_regression()) return std::nullopt;
    NotifyMessage slower = message(Occasion::regression, wall_us);
    slower.state = std::move(state);
    slower.reason = std::move(reason);
    slower.exit_code = view_.status.exit_code;
    return slower;
}

NotifyMessage Occasions::message(Occasion occasion, std::int64_t wall_us) const {
    NotifyMessage made;
    made.occasion = occasion;
    made.run = view_.number;
    made.name = view_.run_name;
    if (view_.status.verdict != Verdict::none) {
        made.verdict = boost::describe::enum_to_string(view_.status.verdict, "?");
    }
    made.reason = view_.status.cause;
    made.steps = view_.steps_done;
    if (view_.began_us > 0 && wall_us > view_.began_us) {
        made.elapsed_s = static_cast<double>(wall_us - view_.began_us) / 1e6;
    }
    made.series = series_;
    made.host = host_;
    made.wall_us = wall_us;
    return made;
}

}  // namespace osora::daemon
