#include "tests/sim/controller_process.hpp"

#include "tests/sim/cluster.hpp"

#include <fmt/format.h>

#include <utility>

namespace osora::sim {

using namespace protocol;
using namespace daemon;

Now ControllerProcess::now() const {
    Time const time = cluster_.world.now();
    return {time + clock_start_, (time + cluster_.wall_offset).count() / 1000};
}

void ControllerProcess::start() {
    ++incarnation_;
    auto const replayed = cluster_.disk.recover();
    ControllerOptions options = cluster_.controller_options();
    options.pid = 10'000 + incarnation_;
    options.next_sequence = cluster_.disk.next_sequence();
    clock_start_ = cluster_.world.between(0s, 1000s);
    core_ = std::make_unique<ControllerCore>(std::move(options), replayed);
    shadow_ = {};
    for (JournalRecord const& each : replayed) fold(shadow_, each.event);
    written_attempt_ = durable_attempt_ = shadow_.attempt;
    cluster_.world.trace("controller starts", incarnation_,
                         static_cast<std::int64_t>(replayed.size()));
    take(core_->start(now()));
}

void ControllerProcess::kill() {
    if (!alive()) return;
    cluster_.world.trace("controller is killed", incarnation_);
    core_.reset();
    actions_.clear();
    backlog_.clear();
    syncing_ = journal_failed_ = false;
    written_ = 0;
    ++timer_;
    cluster_.disk.crash();
    cluster_.network.controller_died();
}

void ControllerProcess::freeze(Time until) {
    frozen_until_ = until;
    cluster_.world.at(until, [this] {
        if (!alive() || cluster_.world.now() < frozen_until_) return;
        for (ControllerInput& each : std::exchange(backlog_, {})) handle(std::move(each));
        if (alive()) handle(Tick{});
    });
}

void ControllerProcess::handle(ControllerInput input) {
    if (!alive() || finished_) return;
    if (cluster_.world.now() < frozen_until_) {
        if (!std::holds_alternative<Tick>(input)) backlog_.push_back(std::move(input));
        return;
    }
    take(core_->handle(now(), input));
}

void ControllerProcess::take(ControllerActions actions) {
    for (ControllerAction& each : actions) {
        if (auto const* record = std::get_if<AppendRecord>(&each)) {
            fold(shadow_, record->record.event);
        }
        auto const* sent = std::get_if<SendToAgent>(&each);
        auto const* closed = std::get_if<CloseConnection>(&each);
        if ((sent != nullptr && !sent->waits) || (closed != nullptr && !closed->waits)) {
            carry_out(each);
        } else {
            actions_.push_back(std::move(each));
        }
    }
    if (!(shadow_ == core_->status()) && !cluster_.disk.full) {
        cluster_.world.violated("the journal does not replay to the controller's state");
    }
    carry_out();
    tell_journal_failed();
    set_timer();
}

void ControllerProcess::carry_out() {
    if (syncing_ || !alive()) return;
    bool const must_sync = write_records();
    if (journal_failed_) {
        actions_.clear();
        written_ = 0;
    } else if (must_sync) {
        sync();
    } else {
        written_ = 0;
        for (ControllerAction const& each : std::exchange(actions_, {})) carry_out(each);
    }
}

bool ControllerProcess::write_records() {
    bool must_sync = false;
    for (; written_ < actions_.size(); ++written_) {
        auto const* action = std::get_if<AppendRecord>(&actions_[written_]);
        if (action == nullptr) continue;
        journal_failed_ = cluster_.disk.full;
        if (journal_failed_) return false;
        RunEvent const& event = action->record.event;
        cluster_.world.trace("record", static_cast<std::int64_t>(event.index()),
                             static_cast<std::int64_t>(action->record.sequence));
        cluster_.disk.append(action->record);
        cluster_.recorded(event);
        if (auto const* launch = std::get_if<LaunchOrdered>(&event))
            written_attempt_ = launch->attempt;
        must_sync = must_sync || action->sync;
    }
    return must_sync;
}

void ControllerProcess::sync() {
    syncing_ = true;
    std::size_t const count = written_;
    cluster_.world.after(cluster_.disk.sync_time(), [this, count, incarnation = incarnation_] {
        if (incarnation != incarnation_ || !alive()) return;
        syncing_ = false;
        cluster_.disk.synced();
        durable_attempt_ = written_attempt_;
        std::deque<ControllerAction> const ready(
            actions_.begin(), actions_.begin() + static_cast<std::ptrdiff_t>(count));
        actions_.erase(actions_.begin(), actions_.begin() + static_cast<std::ptrdiff_t>(count));
        written_ = 0;
        for (ControllerAction const& each : ready) carry_out(each);
        carry_out();
        tell_journal_failed();
    });
}

void ControllerProcess::tell_journal_failed() {
    if (std::exchange(journal_failed_, false)) handle(JournalFailed{"no space left on device"});
}

void ControllerProcess::carry_out(ControllerAction const& action) {
    if (auto const* record = std::get_if<AppendRecord>(&action)) {
        if (std::holds_alternative<RunEnded>(record->record.event)) cluster_.run_ended();
    } else if (auto const* sent = std::get_if<SendToAgent>(&action)) {
        auto const* launch = std::get_if<LaunchWorkers>(&sent->message);
        if (launch != nullptr && launch->attempt > durable_attempt_) {
            cluster_.world.violated("workers are launched before the order is durable");
        }
        cluster_.network.to_agent(sent->connection, sent->message);
    } else if (auto const* close = std::get_if<CloseConnection>(&action)) {
        cluster_.network.close_by_controller(close->connection);
    } else if (auto const* start = std::get_if<StartAgent>(&action)) {
        cluster_.start_agent(start->node, start->agent_number);
    } else if (auto const* stop = std::get_if<StopAgent>(&action)) {
        cluster_.stop_agent(*stop);
    } else if (auto const* finish = std::get_if<Finish>(&action)) {
        cluster_.world.trace("finish", finish->exit_code);
        finished_ = true;
        exit_code_ = finish->exit_code;
        cluster_.controller_finished();
    }
}

bool ControllerProcess::workers_are_wanted() const {
    if (!alive() || finished_) return false;
    RunStatus const& run = core_->status();
    return run.state == RunState::running || (run.state == RunState::launching && run.ordered);
}

void ControllerProcess::set_timer() {
    if (!alive()) return;
    MonotonicTime const due = core_->next_deadline();
    std::uint64_t const timer = ++timer_;
    if (due == kNever) return;
    cluster_.world.at(due - clock_start_, [this, timer] {
        if (timer == timer_) handle(Tick{});
    });
}

}  // namespace osora::sim
