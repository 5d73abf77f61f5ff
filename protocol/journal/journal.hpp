// The bytes of a run's journal, sans-io: a header, then records, each
//   u32 length (big endian) | u32 CRC-32C of the body | body = JSON {"seq","wall_us","type",...}
// In version 2 the body of a measurement may be that JSON as a zstd frame (it then begins with
// kZstdMagic); decisions stay readable as text.
// One appender; any number of readers, also while it grows. A record at the end that is cut off or
// not wholly on disk (wrong checksum, zeros) comes from a crash of the appender, and the next
// appender drops it; a bad record with more records after it is corruption.
#pragma once

#include "protocol/journal/run_events.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace osora::protocol {

inline constexpr std::string_view kJournalHeader = "osora journal 2\n";
/// Header of journals with plain bodies; an appender keeps such a journal plain for older readers.
inline constexpr std::string_view kPlainJournalHeader = "osora journal 1\n";
inline constexpr std::string_view kJournalFile = "journal";  // in the run directory
constexpr std::uint32_t kJournalRecordBytesMax = 8u << 20;   // of a body, as JSON

enum class JournalBodies { plain, compressed };  // compressed: of measurements, where shorter

/// The bytes to append for `record`; invalid_input when it is longer than the limit.
[[nodiscard]] Result<std::string> encode_record(JournalRecord const& record,
                                                JournalBodies bodies = JournalBodies::compressed);

/// A record with this body, whatever its content.
[[nodiscard]] std::string frame_body(std::string_view body);
constexpr std::size_t kJournalPrefixBytes = 8;  // of a record: length, checksum

/// Splits a journal into records as its bytes arrive.
class JournalReader {
public:
    JournalReader() = default;
    /// Continues after `good_bytes` that were read before; the next byte fed is the one at that
    /// offset.
    JournalReader(std::uint64_t good_bytes, std::uint64_t next_sequence)
        : good_bytes_(good_bytes), next_sequence_(next_sequence) {}

    /// Adds bytes read from the file; returns the records they complete. corrupt names the offset:
    /// a wrong header, length, checksum or sequence; the reader is then of no further use. Records
    /// of a type that this version does not know are checked, counted and left out.
    [[nodiscard]] Result<std::vector<JournalRecord>> feed(std::string_view bytes);

    /// For an appender, when the whole file has been fed and before it cuts the file at
    /// good_bytes(): corrupt when the rest is more than one record that was cut off (it contains a
    /// whole record, so a length before it was damaged).
    [[nodiscard]] Result<void> finish() const;

    /// Offset after the last whole record: where an appender continues after a crash.
    [[nodiscard]] std::uint64_t good_bytes() const { return good_bytes_; }
    [[nodiscard]] std::uint64_t next_sequence() const { return next_sequence_; }
    /// According to the header.
    [[nodiscard]] JournalBodies bodies() const { return bodies_; }
    /// Bytes of a record that is not complete (yet).
    [[nodiscard]] std::size_t pending_bytes() const { return buffer_.size(); }

private:
    std::string buffer_;
    std::uint64_t good_bytes_ = 0;
    std::uint64_t next_sequence_ = 0;
    JournalBodies bodies_ = JournalBodies::compressed;
};

}  // namespace osora::protocol
