// The controller as a process: the part of the shell around ControllerCore. Actions run in order,
// and wait for an earlier record that must be durable.
#pragma once

#include "daemon/controller/controller_core.hpp"
#include "tests/sim/world.hpp"

#include <deque>
#include <memory>

namespace osora::sim {

class Cluster;

class ControllerProcess {
public:
    explicit ControllerProcess(Cluster& cluster) : cluster_(cluster) {}

    void start();
    /// Nothing of it remains except the journal.
    void kill();
    void freeze(Time until);
    void handle(daemon::ControllerInput input);

    [[nodiscard]] bool alive() const { return core_ != nullptr; }
    [[nodiscard]] int incarnation() const {
        return incarnation_;
    }  // -1 before the first, counts starts
    [[nodiscard]] bool finished() const { return finished_; }
    [[nodiscard]] int exit_code() const { return exit_code_; }
    [[nodiscard]] protocol::RunStatus const& status() const { return core_->status(); }
    [[nodiscard]] bool workers_are_wanted() const;

private:
    [[nodiscard]] daemon::Now now() const;
    void take(daemon::ControllerActions actions);
    void carry_out();
    void carry_out(daemon::ControllerAction const& action);
    /// Writes every queued record; returns whether one of them must be durable.
    bool write_records();
    void sync();
    void tell_journal_failed();
    void set_timer();

    Cluster& cluster_;
    std::unique_ptr<daemon::ControllerCore> core_;
    std::deque<daemon::ControllerAction> actions_;
    std::deque<daemon::ControllerInput> backlog_;      // while it is frozen
    protocol::RunStatus shadow_;                       // folded from the records that were written
    int written_attempt_ = -1, durable_attempt_ = -1;  // newest LaunchOrdered
    std::size_t written_ = 0;                          // actions whose records are written
    bool syncing_ = false;
    bool journal_failed_ = false;  // the core does not know it yet
    bool finished_ = false;
    int exit_code_ = 0;
    int incarnation_ = -1;
    Time clock_start_{};
    Time frozen_until_{};
    std::uint64_t timer_ = 0;
};

}  // namespace osora::sim
