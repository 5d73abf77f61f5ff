#include "daemon/agent/report_queue.hpp"

#include "protocol/messages/message.hpp"
#include "protocol/steps/measurement.hpp"

#include <utility>

namespace osora::daemon {

using protocol::FromAgent;

namespace {

/// Starts and ends of ranks are few, and they decide how the run goes on.
bool may_be_dropped(FromAgent const& report) {
    return protocol::holds_measurement(report) ||
           std::holds_alternative<protocol::RunNotice>(report);
}

}  // namespace

bool ReportQueue::push(FromAgent report) {
    bool const full = memory_.size() >= kInMemory;
    bool const is_chunk = std::holds_alternative<protocol::MetricChunk>(report);
    if (spill_ == nullptr && full && may_be_dropped(report) && !is_chunk) {
        ++dropped_;
        return false;
    }
    bool const behind_others = spilled_ > 0 || !behind_.empty();
    if (spill_ == nullptr || (!full && !behind_others)) {
        memory_.push_back(std::move(report));
        return true;
    }
    if (behind_.empty() && spill(report)) return false;
    if (may_be_dropped(report)) {
        ++dropped_;
    } else {
        behind_.push_back(std::move(report));
    }
    return false;
}

bool ReportQueue::spill(FromAgent const& report) {
    if (spill_->push(protocol::encode_message(report)).has_error()) return false;
    ++spilled_;
    return true;
}

std::optional<FromAgent> ReportQueue::next_spilled() {
    while (spilled_ > 0) {
        auto const record = spill_->pop();
        if (record.has_error() || !record->has_value()) {
            dropped_ += std::exchange(spilled_, 0);
            break;
        }
        --spilled_;
        auto report = protocol::decode_message<FromAgent>(**record);
        if (report.has_value()) return std::move(*report);
        ++dropped_;
    }
    if (behind_.empty()) return std::nullopt;
    FromAgent report = std::move(behind_.front());
    behind_.pop_front();
    return report;
}

std::vector<FromAgent> ReportQueue::acknowledge(std::uint64_t next) {
    while (!memory_.empty() && first_number_ < next) {
        memory_.pop_front();
        ++first_number_;
    }
    std::vector<FromAgent> ready;
    while (memory_.size() < kInMemory) {
        auto report = next_spilled();
        if (!report) break;
        memory_.push_back(*report);
        ready.push_back(std::move(*report));
    }
    return ready;
}

std::uint64_t ReportQueue::take_dropped() {
    return std::exchange(dropped_, 0);
}

}  // namespace osora::daemon
