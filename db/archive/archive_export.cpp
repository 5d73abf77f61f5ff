// The archive is built beside its final path and renamed when it is complete and on disk.
#include "base/files/descriptor.hpp"
#include "base/files/files.hpp"
#include "base/files/regular_file.hpp"
#include "base/sha256.hpp"
#include "db/archive/archive_format.hpp"
#include "db/archive/archive_redaction.hpp"
#include "db/archive/run_archive.hpp"
#include "db/store/connection_internal.hpp"
#include "protocol/journal/journal.hpp"
#include "protocol/journal/journal_rewriter.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

namespace osora::db {
namespace {

namespace fs = std::filesystem;

/// Calls `use` with pieces of a file, at most `bytes` in total; returns how many there were.
Result<std::int64_t> for_each_piece(fs::path const& path, std::int64_t bytes,
                                    std::function<Result<void>(std::string_view)> const& use) {
    OSORA_TRY(Descriptor const file, open_regular(path, O_NOFOLLOW));
    std::string buffer;
    std::int64_t done = 0;
    while (done < bytes) {
        buffer.resize(static_cast<std::size_t>(std::min(kArchivePieceBytes, bytes - done)));
        ssize_t const got = ::pread(file.get(), buffer.data(), buffer.size(), done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_error(errno, "read", path);
        if (got == 0) break;
        OSORA_TRY_VOID(use(std::string_view(buffer).substr(0, static_cast<std::size_t>(got))));
        done += got;
    }
    return done;
}

/// Bytes of the complete records of a journal that belongs to `uuid`.
Result<std::int64_t> whole_records(fs::path const& journal, std::string const& uuid) {
    protocol::JournalReader reader;
    std::string found;
    OSORA_TRY(auto const bytes,
              for_each_piece(journal, INT64_MAX, [&](std::string_view piece) -> Result<void> {
                  OSORA_TRY(auto const records, reader.feed(piece));
                  if (!found.empty() || records.empty()) return {};
                  auto const* first = std::get_if<protocol::RunSubmitted>(&records.front().event);
                  found = first == nullptr ? "none" : first->run_uuid;
                  return {};
              }));
    if (bytes == 0 || found != uuid) {
        return Error{Errc::corrupt, journal.string() + ": not the journal of this run"};
    }
    return static_cast<std::int64_t>(reader.good_bytes());
}

/// Writes the rows of one file: collects what is added into pieces of one size.
class PieceWriter {
public:
    PieceWriter(Connection& connection, std::string uuid, std::string_view file)
        : connection_(connection), uuid_(std::move(uuid)), file_(file) {}

    void add(std::string_view content) {
        waiting_.append(content);
        constexpr auto kPiece = static_cast<std::size_t>(kArchivePieceBytes);
        std::size_t done = 0;
        for (; waiting_.size() - done >= kPiece; done += kPiece) {
            write(std::string_view(waiting_).substr(done, kPiece));
        }
        waiting_.erase(0, done);
    }
    void end() {
        if (!waiting_.empty()) write(waiting_);
        waiting_.clear();
    }
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }
    [[nodiscard]] std::string const& listing() const { return listing_; }

private:
    void write(std::string_view piece) {
        auto const hash = sha256_hex(piece);
        execute(connection_, "INSERT INTO piece VALUES(?1,?2,?3,?4,?5)", uuid_, file_, ordinal_++,
                hash, std::as_bytes(std::span(piece)));
        append_listing(listing_, "piece", hash);
        bytes_ += static_cast<std::int64_t>(piece.size());
    }

    Connection& connection_;
    std::string uuid_, file_, waiting_, listing_;
    int ordinal_ = 0;
    std::int64_t bytes_ = 0;
};

class Exporter {
public:
    explicit Exporter(fs::path const& file) : connection_(file, std::chrono::milliseconds(0)) {
        auto& database = connection_.database();
        database.exec("PRAGMA page_size=8192; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF");
        for (auto const statement : kArchiveSchema) database.exec(std::string(statement));
        database.exec(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kArchiveId,
                                  kArchiveVersion));
    }

    Result<ArchivedRun> add(RunRecord const& run) {
        return in_transaction(connection_, "export", [&]() -> Result<ArchivedRun> {
            ArchivedRun added{run.uuid, run.name, run.number, 0};
            std::string listing;
            append_listing(listing, run.uuid, fmt::format("{} {}", run.name, run.number));
            for (auto const& file : kArchiveFiles) {
                OSORA_TRY(auto const bytes, add_file(run, file, listing));
                added.bytes += bytes;
            }
            execute(connection_, "INSERT INTO run VALUES(?1,?2,?3,?4)", run.uuid, run.name,
                    run.number, sha256_hex(listing));
            return added;
        });
    }

private:
    Result<std::int64_t> add_file(RunRecord const& run, ArchiveFile const& file,
                                  std::string& listing) {
        auto const path = fs::path(run.run_dir) / file.name;
        std::int64_t most = file.bytes_max;
        std::error_code missing;
        if (file.name == protocol::kJournalFile) {
            OSORA_TRY(auto const whole, whole_records(path, run.uuid));
            if (whole > most) return too_large(path, most);
            most = whole;
        } else if (!fs::is_regular_file(fs::symlink_status(path, missing))) {
            return std::int64_t{0};
        } else if (static_cast<std::int64_t>(fs::file_size(path, missing)) > most) {
            return too_large(path, most);
        }
        PieceWriter writer(connection_, run.uuid, file.name);
        OSORA_TRY_VOID(write_pieces(path, file, most, ArchiveRedaction(run.run_dir), writer));
        auto const bytes = writer.bytes();
        execute(connection_, "INSERT INTO file VALUES(?1,?2,?3)", run.uuid, std::string(file.name),
                bytes);
        append_listing(listing, file.name, std::to_string(bytes));
        listing += writer.listing();
        return bytes;
    }

    /// The file without the run's secrets. A probe's figures have none, and may be large.
    static Result<void> write_pieces(fs::path const& path, ArchiveFile const& file,
                                     std::int64_t most, ArchiveRedaction const& redaction,
                                     PieceWriter& writer) {
        bool const is_journal = file.name == protocol::kJournalFile;
        bool const is_figures = file.name == "probe.json";
        protocol::JournalRewriter journal(
            [&](std::string const& body) { return redaction.json(body); });
        std::string whole;
        auto const use = [&](std::string_view content) -> Result<void> {
            if (is_journal) writer.add(journal.feed(content));
            if (is_figures) writer.add(content);
            if (!is_journal && !is_figures) whole.append(content);
            return {};
        };
        OSORA_TRY_VOID(for_each_piece(path, most, use));
        if (!whole.empty()) writer.add(redaction.file(file.name, whole));
        writer.end();
        return {};
    }

    static Error too_large(fs::path const& path, std::int64_t most) {
        return {Errc::invalid_input, fmt::format("{}: larger than {} bytes", path.string(), most)};
    }

    Connection connection_;
};

Result<std::vector<ArchivedRun>> write_archive(std::vector<RunRecord> const& runs,
                                               fs::path const& part) {
    try {
        Exporter exporter(part);
        std::vector<ArchivedRun> added;
        for (auto const& run : runs) {
            auto one = exporter.add(run);
            if (one.has_error()) return std::move(one).error().in("run " + run.name);
            added.push_back(std::move(*one));
        }
        return added;
    } catch (SQLite::Exception const& exception) {
        int const system_error = errno;
        return database_error(part, exception.getExtendedErrorCode(), system_error,
                              exception.what())
            .in("export");
    }
}

}  // namespace

Result<std::vector<ArchivedRun>> export_runs(std::vector<RunRecord> const& runs,
                                             fs::path const& file) {
    auto const target = fs::absolute(file);
    std::error_code error;
    if (fs::exists(fs::symlink_status(target, error))) {
        return Error{Errc::invalid_input, target.string() + ": exists; name another file"};
    }
    std::set<std::string> uuids;
    for (auto const& run : runs) {
        if (uuids.insert(run.uuid).second) continue;
        return Error{Errc::invalid_input, "run " + run.name + ": named twice"};
    }
    OSORA_TRY(auto part, NewFile::create(target, kPrivate));
    // SQLite opens it by its name, and follows no link there.
    OSORA_TRY(auto written, write_archive(runs, part.temporary()));
    OSORA_TRY_VOID(part.publish());
    return written;
}

}  // namespace osora::db
