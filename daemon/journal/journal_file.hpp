// The one appender of a run's journal. Recovers a torn tail, numbers the records, keeps some disk
// space in reserve so that a run can still be ended on a full disk. The caller holds the run's
// lock.
#pragma once

#include "daemon/journal/append_file.hpp"
#include "protocol/journal/journal.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace osora::daemon {

/// Who may use the reserve. On a full disk metrics stop first, then decisions; the records that end
/// the run come last.
enum class Importance { metric, decision, final_record };

struct JournalReserve {
    std::uint64_t decisions_bytes = 96 << 10;
    std::uint64_t final_record_bytes = 32 << 10;
};

class JournalFile {
public:
    struct Opened;
    /// Reads all of `file` and cuts off a record that a crash left unfinished. corrupt: it is
    /// damaged in another way; the file is then unchanged.
    [[nodiscard]] static Result<Opened> open(std::unique_ptr<AppendFile> file,
                                             JournalReserve reserve = {});
    class Key;  // only open() can make one
    JournalFile(Key const&, std::unique_ptr<AppendFile> file, JournalReserve reserve);
    ~JournalFile();
    JournalFile(JournalFile const&) = delete;
    JournalFile& operator=(JournalFile const&) = delete;

    /// Appends `record` under the next sequence number (its own is ignored). On error nothing of it
    /// is in the file, and the next append may succeed; but after an error that left the file in an
    /// unknown state every append fails. Not durable before sync().
    [[nodiscard]] Result<void> append(protocol::JournalRecord record, Importance importance);

    /// Makes everything appended so far durable. May be called from another thread. After an error
    /// the content of the disk is unknown: every later append and sync fails.
    [[nodiscard]] Result<void> sync();

    [[nodiscard]] std::uint64_t next_sequence() const { return next_sequence_; }

private:
    [[nodiscard]] Result<void> secure_space(std::size_t bytes, Importance importance);

    std::unique_ptr<AppendFile> file_;
    JournalReserve reserve_;
    bool can_reserve_ = true;
    std::uint64_t reserved_until_ = 0;
    std::uint64_t next_sequence_ = 0;
    protocol::JournalBodies bodies_ = protocol::JournalBodies::compressed;
    std::atomic<bool> broken_ = false;
};

struct JournalFile::Opened {
    std::unique_ptr<JournalFile> journal;
    std::vector<protocol::JournalRecord> records;  // all but old metric chunks, in order
    std::uint64_t dropped_bytes = 0;               // of the unfinished record
};

}  // namespace osora::daemon
