#include "worker/parallel/flight/flight_recorder.hpp"

#include <algorithm>
#include <utility>

namespace osora::worker {

using protocol::CollectiveState;

namespace {

/// Backends have one signature for all callers, so the purpose of a call is passed separately.
char const*& label_here() {
    thread_local char const* label = "";
    return label;
}

}  // namespace

FlightRecorder::Label::Label(char const* text) : outer_(std::exchange(label_here(), text)) {}
FlightRecorder::Label::~Label() {
    label_here() = outer_;
}

int FlightRecorder::add_channel(std::string name, std::vector<int> ranks) {
    std::scoped_lock const lock(mutex_);
    channels_.push_back({.name = std::move(name), .ranks = std::move(ranks)});
    return static_cast<int>(channels_.size()) - 1;
}

std::uint64_t FlightRecorder::started(Call const& call, Clock::time_point now) {
    std::scoped_lock const lock(mutex_);
    Slot& slot = ring_[next_ticket_ % kRecords];
    if (slot.ticket != 0) {
        if (slot.state == CollectiveState::started) {
            pending_.push_back(slot);
            if (pending_.size() > kPendingMax) pending_.pop_front(), ++forgotten_;
        } else {
            ++forgotten_;
        }
    }
    auto const sequence = ++channels_[static_cast<std::size_t>(call.channel)].started;
    slot = {.ticket = next_ticket_,
            .call = call,
            .label = label_here(),
            .sequence = sequence,
            .step = step_,
            .micro_batch = micro_batch_,
            .state = CollectiveState::started,
            .start = now,
            .end = {}};
    return next_ticket_++;
}

FlightRecorder::Slot* FlightRecorder::find(std::uint64_t ticket) {
    Slot& slot = ring_[ticket % kRecords];
    if (slot.ticket == ticket) return &slot;
    auto const found = std::ranges::find(pending_, ticket, &Slot::ticket);
    return found == pending_.end() ? nullptr : &*found;
}

void FlightRecorder::ended(std::uint64_t ticket, bool well, Clock::time_point now) {
    std::scoped_lock const lock(mutex_);
    Slot* const slot = find(ticket);
    if (slot == nullptr || slot->state != CollectiveState::started) return;
    slot->state = well ? CollectiveState::finished : CollectiveState::failed;
    slot->end = now;
    auto& channel = channels_[static_cast<std::size_t>(slot->call.channel)];
    if (well) channel.finished = std::max(channel.finished, slot->sequence);
    // Of the records that fell out of the ring only failures are kept.
    if (well && ring_[ticket % kRecords].ticket != ticket) {
        std::erase_if(pending_, [&](Slot const& each) { return each.ticket == ticket; });
        ++forgotten_;
    }
}

void FlightRecorder::at_step(int step) {
    std::scoped_lock const lock(mutex_);
    step_ = step;
    micro_batch_ = -1;
}

void FlightRecorder::at_micro_batch(int index) {
    std::scoped_lock const lock(mutex_);
    micro_batch_ = index;
}

void FlightRecorder::in_phase(std::string phase) {
    std::scoped_lock const lock(mutex_);
    phase_ = std::move(phase);
}

void FlightRecorder::refresh_with(std::function<void()> refresh) {
    std::scoped_lock const lock(refreshing_);
    refreshers_.push_back(std::move(refresh));
}

void FlightRecorder::refresh() {
    std::scoped_lock const lock(refreshing_);
    for (auto const& each : refreshers_) each();
}

std::optional<FlightRecorder::Clock::time_point> FlightRecorder::oldest() {
    refresh();
    std::scoped_lock const lock(mutex_);
    std::optional<Clock::time_point> oldest;
    auto const look = [&](Slot const& each) {
        if (each.ticket == 0 || each.state != CollectiveState::started || each.call.one_sided)
            return;
        if (!oldest || each.start < *oldest) oldest = each.start;
    };
    for (Slot const& each : pending_) look(each);
    for (Slot const& each : ring_) look(each);
    return oldest;
}

protocol::FlightDump FlightRecorder::dump(Clock::time_point now) {
    refresh();
    std::scoped_lock const lock(mutex_);
    auto const us = [&](Clock::time_point time) {
        return std::chrono::duration_cast<std::chrono::microseconds>(time - start_).count();
    };
    protocol::FlightDump dump;
    dump.phase = phase_;
    dump.step = step_;
    dump.now_us = us(now);
    dump.channels = channels_;
    dump.forgotten = forgotten_;
    auto const add = [&](Slot const& each) {
        if (each.ticket == 0) return;
        bool const over = each.state != CollectiveState::started;
        dump.records.push_back({.channel = each.call.channel,
                                .sequence = each.sequence,
                                .operation = each.call.operation,
                                .label = each.label,
                                .bytes = each.call.bytes,
                                .dtype = each.call.dtype,
                                .step = each.step,
                                .micro_batch = each.micro_batch,
                                .state = each.state,
                                .started_us = us(each.start),
                                .ended_us = over ? us(each.end) : 0});
    };
    for (Slot const& each : pending_) add(each);
    for (std::size_t i = 0; i < kRecords; ++i) add(ring_[(next_ticket_ + i) % kRecords]);
    return dump;
}

}  // namespace osora::worker
