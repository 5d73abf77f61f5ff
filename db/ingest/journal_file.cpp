// The file may grow while it is read; what comes after the last complete record is read again
// later.
#include "db/ingest/journal_file.hpp"

#include "base/files/files.hpp"
#include "base/files/regular_file.hpp"
#include "base/sha256.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace osora::db {
namespace {

namespace fs = std::filesystem;

Result<std::string> read_range(fs::path const& path, std::int64_t start, std::int64_t bytes) {
    OSORA_TRY(Descriptor const file, open_regular(path));
    std::string content(static_cast<std::size_t>(bytes), '\0');
    std::size_t have = 0;
    while (have < content.size()) {
        ssize_t const got = ::pread(file.get(), content.data() + have, content.size() - have,
                                    static_cast<off_t>(start) + static_cast<off_t>(have));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_error(errno, "read", path);
        if (got == 0) break;
        have += static_cast<std::size_t>(got);
    }
    content.resize(have);
    return content;
}

Result<std::string> tail_sha256(fs::path const& journal, std::int64_t offset) {
    if (offset == 0) return std::string();
    std::int64_t const start = std::max<std::int64_t>(0, offset - kTailBytes);
    OSORA_TRY(auto const bytes, read_range(journal, start, offset - start));
    return sha256_hex(bytes);
}

/// Parses `bytes`, which begin at offset `from`; on damage returns the records before it.
JournalPiece cut(std::string_view bytes, JournalPosition const& from) {
    auto const start = static_cast<std::uint64_t>(from.offset);
    auto const sequence = static_cast<std::uint64_t>(from.next_sequence);
    protocol::JournalReader reader(start, sequence);
    auto records = reader.feed(bytes);
    JournalPiece piece;
    piece.next = from;
    if (records.has_error()) {
        piece.next.problem = records.error().message;
        auto const good = static_cast<std::size_t>(reader.good_bytes() - start);
        reader = protocol::JournalReader(start, sequence);
        records = reader.feed(bytes.substr(0, good));
    }
    if (records.has_value()) piece.records = std::move(*records);
    piece.next.offset = static_cast<std::int64_t>(reader.good_bytes());
    piece.next.next_sequence = static_cast<std::int64_t>(reader.next_sequence());
    return piece;
}

}  // namespace

Result<JournalPosition> look_at(fs::path const& journal) {
    struct stat info {};
    if (::stat(journal.c_str(), &info) != 0) return file_error(errno, "stat", journal);
    JournalPosition position;
    position.size_bytes = info.st_size;
    position.mtime_ns = info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec;
    return position;
}

Result<bool> still_holds(fs::path const& journal, JournalPosition const& position) {
    OSORA_TRY(auto const now, look_at(journal));
    if (now.size_bytes < position.offset) return false;
    OSORA_TRY(auto const tail, tail_sha256(journal, position.offset));
    return tail == position.tail_sha256;
}

Result<JournalPiece> read_piece(fs::path const& journal, JournalPosition const& from,
                                std::int64_t limit_bytes) {
    OSORA_TRY(auto const now, look_at(journal));
    std::int64_t const there = std::max<std::int64_t>(0, now.size_bytes - from.offset);
    JournalPiece piece;
    // A record may be longer than the limit: then the piece grows until it holds the record.
    for (std::int64_t wanted = limit_bytes;; wanted *= 4) {
        OSORA_TRY(auto const bytes, read_range(journal, from.offset, std::min(wanted, there)));
        piece = cut(bytes, from);
        piece.at_end = wanted >= there;
        // The file header alone is not news: the first record identifies the run.
        bool const moved = !piece.records.empty();
        if (moved || piece.at_end || !piece.next.problem.empty()) break;
    }
    // If there is more to read, the file must look changed to the next reader.
    piece.next.size_bytes = piece.at_end ? now.size_bytes : 0;
    piece.next.mtime_ns = piece.at_end ? now.mtime_ns : 0;
    OSORA_TRY(piece.next.tail_sha256, tail_sha256(journal, piece.next.offset));
    return piece;
}

}  // namespace osora::db
