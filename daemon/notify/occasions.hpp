// Which messages the events of a run cause: at its end, when it fails or restarts. Pure; driven by
// Notifier, which adds the verdict of the run's series (regression) and sends them.
#pragma once

#include "daemon/notify/notify_message.hpp"
#include "protocol/run_view.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::daemon {

/// Restarts for the same cause cause at most one message in this time.
constexpr std::int64_t kSameCauseWindow_us = 600'000'000;

/// What remains of a cause without its numbers: two ranks that die alike have one.
[[nodiscard]] std::string cause_key(std::string_view cause);

class Occasions {
public:
    /// `on`: NotifySection::on. `host`: of this controller.
    Occasions(std::vector<std::string> const& on, std::string series, std::string host);

    /// From the journal of an earlier controller: causes nothing, unless the run has ended and no
    /// record shows that somebody was notified; due() has that message.
    void replay(protocol::JournalRecord const& record);
    [[nodiscard]] std::optional<NotifyMessage> due() const { return unsent_; }

    /// A record that has just been written: the message that it causes.
    [[nodiscard]] std::optional<NotifyMessage> take(protocol::JournalRecord const& record);

    /// The message about the run's series, if the run ended well and `on` has "regression".
    /// `state`: "suspected", "confirmed".
    [[nodiscard]] std::optional<NotifyMessage> regression(std::string state, std::string reason,
                                                          std::int64_t wall_us) const;
    [[nodiscard]] bool wants_regression() const;

private:
    [[nodiscard]] NotifyMessage message(Occasion occasion, std::int64_t wall_us) const;
    [[nodiscard]] std::optional<NotifyMessage> restart(std::int64_t wall_us);
    [[nodiscard]] std::optional<NotifyMessage> end(std::int64_t wall_us) const;

    bool on_end_ = false, on_failure_ = false, on_regression_ = false;
    std::string series_, host_;
    protocol::RunView view_;
    bool restart_due_ = false;  // its cause may still be replaced by a better one
    std::map<std::string, std::int64_t> sent_us_;  // restarts: by cause_key()
    std::optional<NotifyMessage> unsent_;
};

}  // namespace osora::daemon
