// After a failed append the file is cut back to its last whole record, so that readers never see
// half of one in the middle. A failed sync cannot be repaired: the kernel may have dropped the
// data.
#include "daemon/journal/journal_file.hpp"

#include "protocol/steps/measurement.hpp"

#include <algorithm>

namespace osora::daemon {
namespace {

constexpr std::size_t kReadBytes = 1 << 20;
constexpr std::size_t kKept = 4096;

/// A long run has millions of measurements, and only the newest matter to its controller.
void forget_old_measurements(std::vector<protocol::JournalRecord>& records) {
    auto is_one = [](auto const& each) { return protocol::holds_measurement(each.event); };
    auto surplus = std::ranges::count_if(records, is_one);
    surplus -= static_cast<std::ptrdiff_t>(kKept);
    std::erase_if(records, [&](auto const& each) { return is_one(each) && surplus-- > 0; });
}

Error broken_error() {
    return {Errc::io, "journal: not written any more after an earlier error"};
}

}  // namespace

class JournalFile::Key {};

JournalFile::JournalFile(Key const&, std::unique_ptr<AppendFile> file, JournalReserve reserve)
    : file_(std::move(file)), reserve_(reserve) {}

Result<JournalFile::Opened> JournalFile::open(std::unique_ptr<AppendFile> file,
                                              JournalReserve reserve) {
    Opened opened;
    protocol::JournalReader reader;
    for (std::uint64_t offset = 0; offset < file->size();) {
        OSORA_TRY(std::string const bytes, file->read(offset, kReadBytes));
        if (bytes.empty()) break;
        offset += bytes.size();
        OSORA_TRY(auto records, reader.feed(bytes));
        for (auto& record : records) opened.records.push_back(std::move(record));
        forget_old_measurements(opened.records);
    }
    OSORA_TRY_VOID(reader.finish());
    if (file->size() > reader.good_bytes()) {
        opened.dropped_bytes = file->size() - reader.good_bytes();
        OSORA_TRY_VOID(file->truncate(reader.good_bytes()));
    }
    bool const is_empty = file->size() == 0;
    opened.journal = std::make_unique<JournalFile>(Key(), std::move(file), reserve);
    opened.journal->next_sequence_ = reader.next_sequence();
    opened.journal->bodies_ = is_empty ? protocol::JournalBodies::compressed : reader.bodies();
    if (is_empty) {
        OSORA_TRY_VOID(opened.journal->file_->append(protocol::kJournalHeader));
    }
    OSORA_TRY_VOID(opened.journal->secure_space(0, Importance::metric));
    return opened;
}

JournalFile::~JournalFile() {
    // Gives the reserve back.
    if (!broken_) (void)file_->truncate(file_->size());
}

Result<void> JournalFile::secure_space(std::size_t bytes, Importance importance) {
    if (!can_reserve_ || importance == Importance::final_record) return {};
    std::uint64_t const end = file_->size() + bytes;
    std::uint64_t const whole = reserve_.decisions_bytes + reserve_.final_record_bytes;
    if (reserved_until_ >= end + whole) return {};
    // Twice as much as needed, so that not every record reserves space.
    auto reserved = file_->reserve(end + 2 * whole);
    if (reserved.has_value()) {
        can_reserve_ = *reserved;
        reserved_until_ = end + 2 * whole;
        return {};
    }
    if (auto const last = file_->reserve(end + whole); last.has_value()) {
        reserved_until_ = end + whole;
        return {};
    }
    bool const enough_for_decision =
        importance == Importance::decision && reserved_until_ >= end + reserve_.final_record_bytes;
    if (enough_for_decision) return {};
    return std::move(reserved).error();
}

Result<void> JournalFile::append(protocol::JournalRecord record, Importance importance) {
    if (broken_) return broken_error();
    record.sequence = next_sequence_;
    OSORA_TRY(std::string const bytes, protocol::encode_record(record, bodies_));
    OSORA_TRY_VOID(secure_space(bytes.size(), importance));
    std::uint64_t const before = file_->size();
    if (auto wrote = file_->append(bytes); wrote.has_error()) {
        if (file_->truncate(before).has_error()) broken_ = true;
        reserved_until_ = before;  // truncating released it
        return wrote;
    }
    ++next_sequence_;
    return {};
}

Result<void> JournalFile::sync() {
    if (broken_) return broken_error();
    auto synced = file_->sync();
    if (synced.has_error()) broken_ = true;
    return synced;
}

}  // namespace osora::daemon
