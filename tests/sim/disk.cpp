#include "tests/sim/disk.hpp"

#include <fmt/format.h>

namespace osora::sim {

using namespace protocol;

void Disk::append(JournalRecord const& record) {
    if (record.sequence != next_sequence_) {
        world_.violated(
            fmt::format("journal sequence {} where {} was due", record.sequence, next_sequence_));
    }
    next_sequence_ = record.sequence + 1;
    if (file_.empty()) file_ += kJournalHeader;
    file_ += *encode_record(record);
}

Time Disk::sync_time() {
    bool const slow = world_.now() < slow_until;
    return slow ? world_.between(500ms, 3s) : world_.between(1ms, 15ms);
}

void Disk::crash() {
    std::size_t const loose = file_.size() - durable_;
    if (loose == 0) return;
    std::size_t const kept = world_.pick(loose + 1);
    file_.resize(durable_ + kept);
    // The length of a file may be durable before its bytes are.
    if (world_.chance(25)) file_.append(world_.pick(64), '\0');
    world_.trace("journal torn", static_cast<std::int64_t>(loose), static_cast<std::int64_t>(kept));
}

std::vector<JournalRecord> Disk::read() {
    auto records = JournalReader().feed(file_);
    if (records.has_value()) return *records;
    world_.violated("the journal does not read: " + records.error().message);
    return {};
}

std::vector<JournalRecord> Disk::recover() {
    JournalReader reader;
    auto records = reader.feed(file_);
    if (records.has_error() || reader.finish().has_error()) {
        world_.violated("a torn journal is taken for a corrupt one");
        return {};
    }
    file_.resize(reader.good_bytes());
    durable_ = file_.size();
    next_sequence_ = reader.next_sequence();
    return *records;
}

}  // namespace osora::sim
