// What following a run decides, without sockets, signals or clocks: what Ctrl-C means, when a stop
// is sent, which records are shown, and how it ends. Driven by follow.cpp.
#pragma once

#include "protocol/messages/control_messages.hpp"
#include "protocol/run_view.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace osora::cli {

struct FollowRules {
    int number = 0;        // of the run
    bool is_mine = false;  // Ctrl-C stops the run; else it only leaves it
    bool json = false, quiet = false;
    std::uint64_t known_records = 0;  // of the journal, from before
    int enough_steps = 0;             // then the run is stopped, and that is a good end; 0: never
};

class FollowCore {
public:
    explicit FollowCore(FollowRules rules) : rules_(rules) {}

    /// Whether the record is shown; the caller keeps the view from before it. Folds it into view().
    [[nodiscard]] bool is_shown(protocol::JournalRecord const& record) const;
    void fold(protocol::JournalRecord const& record) { protocol::fold(view_, record); }

    /// Ctrl-C or SIGTERM; returns what osora says about it. has_left(): osora ends now.
    [[nodiscard]] std::string interrupt();
    [[nodiscard]] bool has_left() const { return left_; }
    void leave() { left_ = true; }
    [[nodiscard]] bool is_interrupted() const { return interrupts_ > 0; }

    /// The stop that no controller has accepted yet; nullopt: none is due.
    [[nodiscard]] std::optional<protocol::ControlStop> stop_due();
    /// The controller accepted the stop of stop_due(), or refused it for good.
    void stop_accepted();

    /// Records beyond the known ones were read: the run, or its next job, has begun.
    [[nodiscard]] bool has_begun() const { return view_.records > rules_.known_records; }
    [[nodiscard]] bool is_over() const {
        return has_begun() && view_.status.state == protocol::RunState::done;
    }
    /// Whether another job may continue a run that is over.
    [[nodiscard]] bool may_continue() const;
    /// Another job does: what was read so far is known.
    void continues() { rules_.known_records = view_.records; }

    /// The end of a run whose controller is gone: `cause`, then how to continue, or the last lines
    /// that the controller printed.
    [[nodiscard]] std::string lost_text(std::string cause, std::string const& last_lines) const;

    /// Stopped because it was timed for long enough: nothing is printed, exit code 0.
    [[nodiscard]] bool is_timed() const { return timed_ && interrupts_ == 0; }

    [[nodiscard]] protocol::RunView const& view() const { return view_; }

private:
    [[nodiscard]] bool has_enough_steps();

    FollowRules rules_;
    protocol::RunView view_;
    int interrupts_ = 0;
    int accepted_ = 0;  // interrupts that a controller knows of
    int first_step_ = -1;
    bool timed_ = false;
    bool left_ = false;
};

}  // namespace osora::cli
