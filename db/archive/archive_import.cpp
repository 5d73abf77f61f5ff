// Nothing of the file is used before it is checked: the schema must match exactly, names come from
// a list, sizes have limits, and every byte has a checksum.
#include "base/files/descriptor.hpp"
#include "base/files/files.hpp"
#include "base/files/write_whole.hpp"
#include "base/sha256.hpp"
#include "base/text/units.hpp"
#include "db/archive/archive_format.hpp"
#include "db/archive/run_archive.hpp"
#include "db/ingest/ingest.hpp"
#include "db/ingest/journal_file.hpp"
#include "db/store/connection_internal.hpp"
#include "db/store/run_store.hpp"
#include "protocol/journal/journal.hpp"
#include "protocol/run_directory.hpp"
#include "protocol/state_paths.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

namespace osora::db {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRunsMax = 1'000'000;
constexpr int kNumberMax = 999'999'999;

Error strange(std::string const& what) {
    return {Errc::invalid_input, what + ": no osora wrote this"};
}
Error damaged(std::string const& what) {
    return {Errc::corrupt, what + ": cut off or damaged; export the runs again"};
}

/// RFC 9562: 8-4-4-4-12 hexadecimal digits, in lower case as osora writes them.
bool is_uuid(std::string_view text) {
    constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    return std::ranges::equal(text, kForm, [](char each, char form) {
        bool const digit = (each >= '0' && each <= '9') || (each >= 'a' && each <= 'f');
        return form == '-' ? each == '-' : digit;
    });
}

bool is_run_name(std::string_view text) {
    constexpr std::string_view kLetters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return !text.empty() && text.size() <= 200 && text[0] != '.' && text[0] != '-' &&
           text.find_first_not_of(kLetters) == std::string_view::npos;
}

struct Entry {
    ArchivedRun run;
    std::string sha256;
    std::vector<std::pair<ArchiveFile, std::int64_t>> files;  // in the order of kArchiveFiles
};

/// A run of the archive that is not here, or of which less is here.
struct Wanted {
    Entry entry;
    fs::path folder;         // in STATE/runs
    std::int64_t known = 0;  // records of its journal that are here
    bool replaces = false;   // the folder is that of an earlier import
};

/// A folder that is removed with the object.
struct Workplace {
    fs::path path;
    ~Workplace() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
};

class Archive {
public:
    explicit Archive(fs::path const& file) : database_(file.string(), SQLite::OPEN_READONLY) {
        auto* handle = database_.getHandle();
        sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
        sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
        sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 2 * static_cast<int>(kArchivePieceBytes));
        database_.exec("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0");
    }

    Result<void> check() {
        if (database_.execAndGet("PRAGMA application_id").getInt() != kArchiveId) {
            return Error{Errc::invalid_input,
                         "not an archive of osora history export, nor a log of MLPerf "
                         "(:::MLLOG) or of NCCL's inspector"};
        }
        int const version = database_.execAndGet("PRAGMA user_version").getInt();
        if (version != kArchiveVersion) {
            return Error{Errc::invalid_input,
                         fmt::format("an archive of version {}; this osora reads version {}",
                                     version, kArchiveVersion)};
        }
        SQLite::Statement row(database_,
                              "SELECT coalesce(sql,'') FROM sqlite_master WHERE name!="
                              "'sqlite_autoindex_piece_1'");
        std::size_t found = 0;
        for (; row.executeStep(); ++found) {
            auto const sql = row.getColumn(0).getString();
            if (std::ranges::find(kArchiveSchema, sql) == kArchiveSchema.end()) {
                return strange("its tables");
            }
        }
        return found == kArchiveSchema.size() ? Result<void>() : strange("its tables");
    }

    Result<std::vector<Entry>> entries() {
        std::vector<Entry> entries;
        SQLite::Statement row(database_, "SELECT uuid,name,number,sha256 FROM run");
        while (row.executeStep()) {
            Entry entry;
            auto const number = row.getColumn(2).getInt64();
            entry.run = {row.getColumn(0).getString(), row.getColumn(1).getString(),
                         static_cast<int>(number), 0};
            entry.sha256 = row.getColumn(3).getString();
            if (!is_uuid(entry.run.uuid)) return strange("the uuid of a run");
            if (!is_run_name(entry.run.name)) return strange("the name of " + entry.run.uuid);
            if (number < 0 || number > kNumberMax) {
                return strange("the number of " + entry.run.uuid);
            }
            OSORA_TRY_VOID(load_files(entry));
            entries.push_back(std::move(entry));
            if (entries.size() > kRunsMax) return strange("over a million runs");
        }
        if (entries.empty()) return Error{Errc::invalid_input, "an archive without a run"};
        return entries;
    }

    /// Unpacks into `folder`, which is new.
    Result<void> unpack(Entry const& entry, fs::path const& folder) {
        if (::mkdir(folder.c_str(), 0700) != 0) return file_error(errno, "make", folder);
        std::string listing;
        append_listing(listing, entry.run.uuid,
                       fmt::format("{} {}", entry.run.name, entry.run.number));
        for (auto const& [file, bytes] : entry.files) {
            append_listing(listing, file.name, std::to_string(bytes));
            OSORA_TRY_VOID(unpack_file(entry, file, bytes, folder, listing));
        }
        if (sha256_hex(listing) != entry.sha256) return damaged("run " + entry.run.name);
        return sync_directory(folder);
    }

private:
    Result<void> load_files(Entry& entry) {
        std::map<std::string, std::int64_t> there;
        SQLite::Statement row(database_, "SELECT name,bytes FROM file WHERE uuid=?1");
        row.bind(1, entry.run.uuid);
        while (row.executeStep() && there.size() <= kArchiveFiles.size()) {
            there[row.getColumn(0).getString()] = row.getColumn(1).getInt64();
        }
        for (auto const& file : kArchiveFiles) {
            auto const found = there.find(std::string(file.name));
            if (found == there.end()) continue;
            auto const bytes = found->second;
            if (bytes < 0 || bytes > file.bytes_max) {
                return strange(fmt::format("{} of {} bytes", file.name, bytes));
            }
            entry.files.emplace_back(file, bytes);
            entry.run.bytes += bytes;
            there.erase(found);
        }
        if (!there.empty()) return strange("a file that runs do not have");
        bool const has_journal =
            !entry.files.empty() && entry.files.front().first.name == protocol::kJournalFile;
        return has_journal ? Result<void>() : damaged("run " + entry.run.name);
    }

    Result<void> unpack_file(Entry const& entry, ArchiveFile const& file, std::int64_t bytes,
                             fs::path const& folder, std::string& listing) {
        auto const path = folder / file.name;
        Descriptor const out(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        if (!out.is_open()) return file_error(errno, "make", path);
        SQLite::Statement row(database_,
                              "SELECT ordinal,sha256,content FROM piece WHERE uuid=?1 AND name=?2 "
                              "ORDER BY ordinal");
        row.bind(1, entry.run.uuid);
        row.bind(2, std::string(file.name));
        std::int64_t done = 0;
        for (int ordinal = 0; row.executeStep(); ++ordinal) {
            auto const content = row.getColumn(2).getString();
            auto const hash = row.getColumn(1).getString();
            done += static_cast<std::int64_t>(content.size());
            if (row.getColumn(0).getInt() != ordinal || done > bytes ||
                sha256_hex(content) != hash) {
                return damaged("run " + entry.run.name);
            }
            append_listing(listing, "piece", hash);
            OSORA_TRY_VOID(write_whole(out.get(), content, path));
        }
        if (done != bytes) return damaged("run " + entry.run.name);
        if (::fsync(out.get()) != 0) return file_error(errno, "sync", path);
        return {};
    }

    SQLite::Database database_;
};

/// The journal must be complete and belong to this run. Returns how many records it has.
Result<std::int64_t> check_journal(Entry const& entry, fs::path const& folder) {
    auto const journal = folder / protocol::kJournalFile;
    JournalPosition position;
    for (bool at_end = false; !at_end;) {
        OSORA_TRY(auto const piece, read_piece(journal, position, 8 << 20));
        if (!piece.next.problem.empty()) return damaged("the journal of run " + entry.run.name);
        if (position.offset == 0) {
            auto const* first = piece.records.empty()
                                    ? nullptr
                                    : std::get_if<protocol::RunSubmitted>(&piece.records[0].event);
            if (first == nullptr || first->run_uuid != entry.run.uuid) {
                return strange("the journal of run " + entry.run.name);
            }
        }
        position = piece.next;
        at_end = piece.at_end;
    }
    if (position.offset == entry.files.front().second) return position.next_sequence;
    return damaged("the journal of run " + entry.run.name);
}

Result<void> check_space(std::vector<Wanted> const& wanted, fs::path const& folder) {
    std::int64_t bytes = 0;
    for (auto const& each : wanted) bytes += each.entry.run.bytes;
    OSORA_TRY(auto const free, free_bytes(folder));
    if (bytes + (std::int64_t{64} << 20) <= free) return {};
    return Error{Errc::out_of_space, fmt::format("{}: {} are needed, {} are free", folder.string(),
                                                 format_bytes(bytes), format_bytes(free))};
}

/// False when the run was resumed here, or somebody keeps something in its folder.
bool has_only_archived_files(fs::path const& folder) {
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        auto const name = at->path().filename().string();
        if (std::ranges::count(kArchiveFiles, name, &ArchiveFile::name) == 0) return false;
    }
    return !error;
}

/// A folder in use is not empty: rename refuses it, unless it is moved into the workplace first.
Result<void> put_in_place(Wanted const& wanted, fs::path const& made, fs::path const& old) {
    auto const move = [](fs::path const& from, fs::path const& to) {
        return ::rename(from.c_str(), to.c_str()) == 0;
    };
    if (wanted.replaces && !move(wanted.folder, old)) {
        return file_error(errno, "move aside", wanted.folder);
    }
    if (move(made, wanted.folder)) return {};
    auto failed = file_error(errno, "name", wanted.folder);
    if (wanted.replaces) (void)move(old, wanted.folder);
    return failed;
}

/// Unpacks all runs, then moves each to its name.
Result<void> bring_in(Archive& archive, std::vector<Wanted> const& wanted, fs::path const& runs,
                      Imported& imported) {
    if (wanted.empty()) return {};
    OSORA_TRY_VOID(check_space(wanted, runs));
    auto name = (runs / ".import-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) return file_error(errno, "make", name);
    Workplace const workplace{name};
    std::vector<Wanted const*> longer;
    for (auto const& each : wanted) {
        auto const made = workplace.path / each.entry.run.uuid;
        OSORA_TRY_VOID(archive.unpack(each.entry, made));
        OSORA_TRY(auto const records, check_journal(each.entry, made));
        if (records > each.known) {
            longer.push_back(&each);
        } else {
            imported.known.push_back(each.entry.run);
        }
    }
    for (auto const* each : longer) {
        auto const made = workplace.path / each->entry.run.uuid;
        OSORA_TRY_VOID(put_in_place(*each, made, made.string() + ".old"));
        (each->known > 0 ? imported.updated : imported.added).push_back(each->entry.run);
    }
    return sync_directory(runs);
}

/// What to do about a run of the archive; nullopt: nothing, all of it is here.
std::optional<Wanted> wanted_of(Connection& connection, Entry const& entry, fs::path const& runs) {
    auto const& uuid = entry.run.uuid;
    Wanted wanted{entry, runs / protocol::imported_folder_name(entry.run.name, uuid)};
    auto const run = run_of_uuid(connection, uuid);
    wanted.replaces =
        run && run->run_dir == wanted.folder.string() && has_only_archived_files(wanted.folder);
    if (!has_journal(connection, uuid)) return wanted;
    if (!wanted.replaces) return std::nullopt;
    std::error_code error;
    auto const bytes = fs::file_size(wanted.folder / protocol::kJournalFile, error);
    if (error || static_cast<std::int64_t>(bytes) >= entry.files.front().second) {
        return std::nullopt;
    }
    wanted.known =
        select_integer(connection, "SELECT next_sequence FROM journal WHERE run_id=?1", run->run_id)
            .value_or(0);
    return wanted;
}

Result<Imported> import_archive(Store& store, fs::path const& runs, fs::path const& file) {
    Archive archive(file);
    OSORA_TRY_VOID(archive.check());
    OSORA_TRY(auto const entries, archive.entries());
    Imported imported;
    std::vector<Wanted> wanted;
    for (auto const& entry : entries) {
        if (auto each = wanted_of(store.connection(), entry, runs)) {
            wanted.push_back(std::move(*each));
        } else {
            imported.known.push_back(entry.run);
        }
    }
    OSORA_TRY_VOID(bring_in(archive, wanted, runs, imported));
    return imported;
}

}  // namespace

Result<Imported> import_runs(Store& store, fs::path const& state_dir, fs::path const& file) {
    auto const runs = protocol::StatePaths{fs::absolute(state_dir)}.runs();
    std::error_code error;
    fs::create_directories(runs, error);
    if (error) return file_error(error.value(), "make", runs);
    if (!fs::is_regular_file(file, error)) {
        return Error{Errc::not_found, file.string() + ": no such file"};
    }
    auto imported = [&]() -> Result<Imported> {
        try {
            return import_archive(store, runs, file);
        } catch (SQLite::Exception const& exception) {
            int const code = exception.getErrorCode();
            if (code == SQLITE_NOTADB) {
                return Error{Errc::invalid_input, "not an archive of osora history export"};
            }
            return damaged(exception.what());
        }
    }();
    if (imported.has_error()) return std::move(imported).error().in(file.string());
    OSORA_TRY_VOID(ingest_all(store, state_dir));
    return imported;
}

}  // namespace osora::db
