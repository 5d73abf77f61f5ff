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

bool ReportQueue::is_full() const {
    return memory_.size() >= kInMemory || memory_bytes_ >= kInMemoryBytes;
}

void ReportQueue::push(FromAgent report) {
    bool const is_chunk = std::holds_alternative<protocol::MetricChunk>(report);
    if (spill_ == nullptr && is_full() && may_be_dropped(report) && !is_chunk) {
        ++dropped_;
        return;
    }
    std::string const encoded = protocol::encode_message(report);
    bool const behind_others = spilled_ > 0 || !behind_.empty();
    if (spill_ == nullptr || (!is_full() && !behind_others)) {
        keep(std::move(report), encoded.size());
    } else if (behind_.empty() && spill_->push(encoded).has_value()) {
        ++spilled_;
    } else if (may_be_dropped(report)) {
        ++dropped_;
    } else {
        behind_.push_back(std::move(report));
    }
}

void ReportQueue::keep(FromAgent report, std::size_t bytes) {
    memory_.push_back(std::move(report));
    bytes_.push_back(bytes);
    memory_bytes_ += bytes;
}

std::optional<ReportQueue::Encoded> ReportQueue::next_spilled() {
    while (spilled_ > 0) {
        auto const record = spill_->pop();
        if (record.has_error() || !record->has_value()) {
            dropped_ += std::exchange(spilled_, 0);
            break;
        }
        --spilled_;
        auto report = protocol::decode_message<FromAgent>(**record);
        if (report.has_value()) return Encoded{std::move(*report), (*record)->size()};
        ++dropped_;
    }
    if (behind_.empty()) return std::nullopt;
    FromAgent report = std::move(behind_.front());
    behind_.pop_front();
    std::size_t const bytes = protocol::encode_message(report).size();
    return Encoded{std::move(report), bytes};
}

void ReportQueue::acknowledge(std::uint64_t next) {
    while (!memory_.empty() && first_number_ < next) {
        memory_bytes_ -= bytes_.front();
        if (sent_ > 0) {
            --sent_;
            sent_bytes_ -= bytes_.front();
        }
        memory_.pop_front();
        bytes_.pop_front();
        ++first_number_;
    }
    while (!is_full()) {
        auto spilled = next_spilled();
        if (!spilled) break;
        keep(std::move(spilled->report), spilled->bytes);
    }
}

/// One that is larger than the window is sent alone.
std::vector<FromAgent> ReportQueue::take_to_send() {
    std::vector<FromAgent> ready;
    while (sent_ < memory_.size()) {
        std::size_t const after = sent_bytes_ + bytes_[sent_];
        if (sent_ > 0 && after > kWindowBytes) break;
        ready.push_back(memory_[sent_]);
        sent_bytes_ = after;
        ++sent_;
    }
    return ready;
}

std::uint64_t ReportQueue::take_dropped() {
    return std::exchange(dropped_, 0);
}

}  // namespace osora::daemon
