// Reads a journal in pieces; each piece's rows and the position after it are one transaction.
#include "db/ingest/ingest.hpp"

#include "base/files/file_lock.hpp"
#include "base/files/files.hpp"
#include "db/derived/derived.hpp"
#include "db/ingest/investigation_ingest.hpp"
#include "db/ingest/journal_file.hpp"
#include "db/ingest/run_writer.hpp"
#include "db/store/connection_internal.hpp"
#include "db/store/run_store.hpp"
#include "db/store/thinning.hpp"
#include "protocol/run_directory.hpp"
#include "protocol/state_paths.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace osora::db {
namespace {

namespace fs = std::filesystem;

struct Known {  // a row of the journal table
    std::optional<std::int64_t> run_id;
    JournalPosition position;
};

std::optional<Known> load_known(Connection& connection, std::string const& path) {
    auto& row = bind(connection.prepared("SELECT run_id,size_bytes,mtime_ns,offset,next_sequence,"
                                         "tail_sha256,problem FROM journal WHERE path=?1"),
                     path);
    if (!row.executeStep()) return std::nullopt;
    Known known;
    if (!row.getColumn(0).isNull()) known.run_id = row.getColumn(0).getInt64();
    auto& position = known.position;
    position.size_bytes = row.getColumn(1).getInt64();
    position.mtime_ns = row.getColumn(2).getInt64();
    position.offset = row.getColumn(3).getInt64();
    position.next_sequence = row.getColumn(4).getInt64();
    position.tail_sha256 = row.getColumn(5).getString();
    position.problem = row.getColumn(6).getString();
    row.reset();
    return known;
}

void save_known(Connection& connection, std::string const& path, Known const& known) {
    auto const& position = known.position;
    execute(connection, "INSERT OR REPLACE INTO journal VALUES(?1,?2,?3,?4,?5,?6,?7,?8)", path,
            known.run_id, position.size_bytes, position.mtime_ns, position.offset,
            position.next_sequence, position.tail_sha256, position.problem);
}

/// Reads one journal into the store.
class JournalIngest {
public:
    JournalIngest(Connection& connection, fs::path journal, IngestOptions const& options,
                  IngestReport& report)
        : connection_(connection),
          journal_(std::move(journal)),
          path_(journal_.string()),
          options_(options),
          report_(report) {}

    /// Fails only on errors of the database; errors of the journal are reported.
    Result<void> run() {
        OSORA_TRY(bool const news, find_start());
        if (!news) return {};
        for (bool at_end = false; !at_end;) {
            auto const piece = read_piece(journal_, known_.position, options_.piece_bytes);
            if (piece.has_error()) return complain(piece.error().message);
            OSORA_TRY_VOID(in_transaction(connection_, "write history",
                                          [&]() -> Result<void> { return write(*piece); }));
            at_end = piece->at_end || !known_.position.problem.empty();
        }
        return {};
    }

private:
    /// The position to continue at; false when the journal has not changed since it was checked.
    Result<bool> find_start() {
        return guarded(connection_, "read history", [&]() -> Result<bool> {
            auto const now = look_at(journal_);
            auto const known = load_known(connection_, path_);
            if (now.has_error()) return complain(now.error().message), false;
            if (!known) return true;
            known_ = *known;
            auto const& position = known->position;
            if (now->size_bytes == position.size_bytes && now->mtime_ns == position.mtime_ns) {
                return false;
            }
            auto const same = still_holds(journal_, position);
            if (same.has_error()) return complain(same.error().message), false;
            bool const grew = now->size_bytes > position.offset;
            if (*same && position.problem.empty() && !(grew && was_thinned())) return true;
            return forget(*same);
        });
    }

    /// If a thinned run continues, its removed rows are needed again to measure it.
    bool was_thinned() {
        auto const run = known_.run_id ? run_of_id(connection_, *known_.run_id) : std::nullopt;
        return run && is_thinned(connection_, run->uuid);
    }

    /// The journal was replaced, or its damaged part changed: read it from its start. Rows of a run
    /// whose journal is no longer at this path stay; those of the same run are rebuilt (see adopt).
    Result<bool> forget(bool same_run) {
        return in_transaction(connection_, "write history", [&]() -> Result<bool> {
            if (same_run && known_.run_id) delete_run(connection_, *known_.run_id);
            execute(connection_, "DELETE FROM journal WHERE path=?1", path_);
            known_ = {};
            return true;
        });
    }

    Result<void> write(JournalPiece const& piece) {
        if (known_.position.offset == 0 && !piece.records.empty()) {
            auto const why_not = adopt(piece.records.front());
            if (!why_not.empty()) return skip(piece, why_not);
        }
        if (!known_.run_id) {
            if (piece.next.problem.empty()) return {};  // nothing to read yet
            return skip(piece, piece.next.problem);
        }
        bool const at_end = piece.at_end || !piece.next.problem.empty();
        RunWriter writer(connection_, *run_of_id(connection_, *known_.run_id));
        for (auto const& record : piece.records) writer.apply(record);
        if (!piece.next.problem.empty()) {
            writer.add_finding("journal_damaged", piece.next.problem);
            complain(piece.next.problem);
        }
        writer.finish(at_end);
        if (at_end) remove_unused(connection_);
        known_.position = piece.next;
        if (at_end) {
            auto const run = run_of_id(connection_, *known_.run_id);
            thin_again(connection_, *run, known_.position.next_sequence);
        }
        save_known(connection_, path_, known_);
        count(piece.records.size());
        return {};
    }

    /// Adds the run of a journal that is read from its start, or returns why not.
    std::string adopt(protocol::JournalRecord const& first) {
        auto const* submitted = std::get_if<protocol::RunSubmitted>(&first.event);
        if (submitted == nullptr || submitted->run_uuid.empty()) {
            return "the journal does not begin with a submission";
        }
        if (auto const old = run_of_uuid(connection_, submitted->run_uuid)) {
            bool const elsewhere = old->run_dir != run_dir();
            if (elsewhere && other_journal_holds(*old) && !is_longer_than(*old)) {
                return "a copy of run " + old->name + " in " + old->run_dir;
            }
            delete_run(connection_, old->run_id);
        }
        known_.run_id = RunWriter::create(connection_, *submitted, run_dir()).run_id;
        return {};
    }

    /// Of two journals of a run one may be from before its end. What was imported never replaces a
    /// run of this state folder.
    bool is_longer_than(RunRecord const& other) const {
        RunRecord here = other;
        here.run_dir = run_dir();
        if (is_imported(here) && !is_imported(other)) return false;
        auto const own = look_at(journal_);
        auto const others = look_at(protocol::RunPaths{other.run_dir}.journal());
        return own.has_value() && others.has_value() && own->size_bytes > others->size_bytes;
    }

    bool other_journal_holds(RunRecord const& run) {
        auto const journal = protocol::RunPaths{run.run_dir}.journal();
        auto const known = load_known(connection_, journal.string());
        if (!known || known->run_id != run.run_id) return false;
        auto const holds = still_holds(journal, known->position);
        return holds.has_value() && *holds;
    }

    Result<void> skip(JournalPiece const& piece, std::string const& why) {
        complain(why);
        known_.position = piece.next;
        known_.position.problem = why;
        save_known(connection_, path_, known_);
        return {};
    }

    Result<void> complain(std::string const& why) {
        report_.problems.push_back(fmt::format("{}: {}", path_, why));
        return {};
    }
    void count(std::size_t records) {
        if (records > 0 && !counted_) ++report_.changed;
        counted_ = counted_ || records > 0;
        report_.records += static_cast<std::int64_t>(records);
    }
    [[nodiscard]] std::string run_dir() const { return journal_.parent_path().string(); }

    Connection& connection_;
    fs::path journal_;
    std::string path_;
    IngestOptions const& options_;
    IngestReport& report_;
    Known known_;
    bool counted_ = false;
};

/// Journals in the order of their folders' names.
std::vector<fs::path> journals_under(fs::path const& runs) {
    std::vector<fs::path> journals;
    std::error_code error;
    for (fs::directory_iterator at(runs, error), end; !error && at != end; at.increment(error)) {
        auto const journal = protocol::RunPaths{at->path()}.journal();
        std::error_code missing;
        if (fs::is_regular_file(journal, missing)) journals.push_back(journal);
    }
    std::ranges::sort(journals);
    return journals;
}

Result<FileLock> lock_of(fs::path const& database, IngestOptions const& options) {
    auto lock = FileLock::acquire(database.string() + ".lock", options.lock_wait);
    if (lock.has_error()) return std::move(lock).error().in("write history");
    return lock;
}

Result<IngestReport> ingest_locked(Store& store, std::vector<fs::path> const& journals,
                                   fs::path const& state_dir, IngestOptions const& options) {
    IngestReport report;
    for (auto const& journal : journals) {
        ++report.runs;
        OSORA_TRY_VOID(JournalIngest(store.connection(), journal, options, report).run());
    }
    if (state_dir.empty()) return report;
    OSORA_TRY_VOID(ingest_investigations(store.connection(), state_dir, report.problems));
    return report;
}

/// Includes what is derived from several runs.
Result<IngestReport> ingest_all_locked(Store& store, fs::path const& state_dir,
                                       IngestOptions const& options) {
    using Clock = std::chrono::steady_clock;
    auto const absolute = fs::absolute(state_dir);
    auto const begin = Clock::now();
    OSORA_TRY(auto report,
              ingest_locked(store, journals_under(protocol::StatePaths{absolute}.runs()), absolute,
                            options));
    // A caller that waited for many new journals also waits for the derived rows.
    auto const now = Clock::now();
    auto const limit = std::max<Clock::duration>(options.derive_limit, now - begin);
    OSORA_TRY_VOID(derive_stale(store.connection(), now + limit));
    return report;
}

/// Holds the lock if the store has a file.
template <class F>
auto with_lock(Store& store, IngestOptions const& options, F action) -> std::invoke_result_t<F> {
    if (store.file().empty()) return action();
    OSORA_TRY(auto const lock, lock_of(store.file(), options));
    return action();
}

/// STATE for a run in STATE/runs; "" for one elsewhere.
fs::path state_of(fs::path const& run_dir) {
    auto const runs = fs::absolute(run_dir).parent_path();
    return runs.filename() == "runs" ? runs.parent_path() : fs::path();
}

constexpr std::array<std::string_view, 4> kDatabaseSuffixes{"", "-wal", "-shm", "-journal"};

/// FILE.kept-TIME, or with -2, -3 ... after it: a name that neither a database nor its side files
/// have, because a rename would replace them.
fs::path free_kept_name(fs::path const& file) {
    std::string const first =
        fmt::format("{}.kept-{:%Y%m%dT%H%M%S}", file.string(), fmt::gmtime(std::time(nullptr)));
    auto const taken = [](std::string const& name) {
        return std::ranges::any_of(kDatabaseSuffixes, [&](std::string_view suffix) {
            std::error_code error;
            return fs::exists(fs::symlink_status(name + std::string(suffix), error));
        });
    };
    std::string name = first;
    for (int number = 2; taken(name); ++number) name = fmt::format("{}-{}", first, number);
    return name;
}

/// Renames the database and its side files; "" when there is none.
Result<fs::path> move_aside(fs::path const& file) {
    std::error_code error;
    if (!fs::exists(file, error)) return fs::path();
    auto const kept = free_kept_name(file);
    for (std::string_view const each : kDatabaseSuffixes) {
        std::string const suffix(each);
        fs::path const old = file.string() + suffix;
        if (!fs::exists(old, error)) continue;
        fs::rename(old, kept.string() + suffix, error);
        if (error) return file_error(error.value(), "move aside", old);
    }
    return kept;
}

/// Names of the runs in `kept` that the new history lacks; a damaged file may not say all of them.
std::vector<std::string> runs_only_in(fs::path const& kept, Connection& connection) {
    std::vector<std::string> names;
    if (kept.empty()) return names;
    (void)guarded(connection, "read the old history", [&]() -> Result<void> {
        SQLite::Database const old(kept.string(), SQLite::OPEN_READONLY);
        SQLite::Statement row(old, "SELECT uuid,name FROM run ORDER BY number,name");
        while (row.executeStep()) {
            if (run_of_uuid(connection, row.getColumn(0).getString())) continue;
            names.push_back(row.getColumn(1).getString());
        }
        return {};
    });
    return names;
}

}  // namespace

Result<IngestReport> ingest_all(Store& store, fs::path const& state_dir,
                                IngestOptions const& options) {
    return with_lock(store, options, [&] { return ingest_all_locked(store, state_dir, options); });
}

Result<IngestReport> ingest_run(Store& store, fs::path const& run_dir,
                                IngestOptions const& options) {
    return with_lock(store, options, [&] {
        auto const journal = protocol::RunPaths{fs::absolute(run_dir)}.journal();
        return ingest_locked(store, {journal}, state_of(run_dir), options);
    });
}

Result<Rebuilt> rebuild(fs::path const& state_dir, StoreOptions const& store_options,
                        IngestOptions const& options) {
    auto const file = fs::absolute(history_file(state_dir));
    OSORA_TRY(auto const lock, lock_of(file, options));
    Rebuilt result;
    OSORA_TRY(result.kept, move_aside(file));
    OSORA_TRY(auto const store, Store::open(file, store_options));
    IngestOptions whole = options;
    whole.derive_limit = std::chrono::hours(24);
    OSORA_TRY(result.ingested, ingest_all_locked(*store, state_dir, whole));
    result.only_in_kept = runs_only_in(result.kept, store->connection());
    return result;
}

}  // namespace osora::db
