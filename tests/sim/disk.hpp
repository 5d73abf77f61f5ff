// The disk under a journal: written bytes, bytes that would survive a crash, and what a crash does
// to the rest.
#pragma once

#include "protocol/journal/journal.hpp"
#include "tests/sim/world.hpp"

#include <string>
#include <vector>

namespace osora::sim {

class Disk {
public:
    explicit Disk(World& world) : world_(world) {}

    /// Appends the header or a record to the file; not durable yet.
    void write(std::string_view bytes) { file_ += bytes; }
    void append(protocol::JournalRecord const& record);
    /// Makes everything written durable.
    void synced() { durable_ = file_.size(); }
    [[nodiscard]] Time sync_time();

    /// The host of the controller stops: a random part of the bytes that are not durable remains,
    /// cut anywhere or filled with zeros.
    void crash();
    /// What a new controller reads: the records, and the file truncated after the last good one.
    [[nodiscard]] std::vector<protocol::JournalRecord> recover();
    [[nodiscard]] std::vector<protocol::JournalRecord> read();

    Time slow_until{};  // until then a sync may take seconds
    bool full = false;  // writes fail

    [[nodiscard]] std::uint64_t next_sequence() const { return next_sequence_; }
    [[nodiscard]] bool durable() const { return durable_ == file_.size(); }

private:
    World& world_;
    std::string file_;
    std::size_t durable_ = 0;
    std::uint64_t next_sequence_ = 0;
};

}  // namespace osora::sim
