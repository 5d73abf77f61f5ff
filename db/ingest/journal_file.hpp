// Private to db/: reads a run's journal in pieces from where the last read ended. Idempotent: it
// changes nothing.
#pragma once

#include "protocol/journal/journal.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::db {

/// How far a journal was read, and the bytes before that position.
struct JournalPosition {
    std::int64_t size_bytes = 0, mtime_ns = 0;  // of the file when it was last checked
    std::int64_t offset = 0, next_sequence = 0;
    std::string tail_sha256;  // of the last kTailBytes before `offset`; "" at offset 0
    std::string problem;      // why reading stopped at `offset`; "" = it did not
};
constexpr std::int64_t kTailBytes = 4096;

/// Size and modification time only, offset 0; not_found when there is no file.
[[nodiscard]] Result<JournalPosition> look_at(std::filesystem::path const& journal);

/// Whether the file still has the content that was read before `position`.
[[nodiscard]] Result<bool> still_holds(std::filesystem::path const& journal,
                                       JournalPosition const& position);

struct JournalPiece {
    std::vector<protocol::JournalRecord> records;
    JournalPosition next;  // where the next piece starts; its problem is set at a damaged record
    bool at_end = true;
};
/// Records from `from` on, about `limit_bytes` of the file. A record that is cut off at the end is
/// left for later.
[[nodiscard]] Result<JournalPiece> read_piece(std::filesystem::path const& journal,
                                              JournalPosition const& from,
                                              std::int64_t limit_bytes);

}  // namespace osora::db
