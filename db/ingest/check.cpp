// A journal may have grown since it was read: the check compares it up to that place.
#include "db/ingest/check.hpp"

#include "db/ingest/journal_file.hpp"
#include "db/store/connection_internal.hpp"
#include "protocol/steps/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

namespace osora::db {
namespace {

constexpr int kProblemsMax = 20;  // of SQLite's own

struct Journal {  // a row of the table
    std::string path;
    std::optional<std::int64_t> run_id;
    JournalPosition position;
};

std::vector<Journal> load_journals(Connection& connection) {
    std::vector<Journal> journals;
    auto& row = connection.prepared(
        "SELECT path,run_id,offset,next_sequence,tail_sha256,problem FROM journal ORDER BY path");
    while (row.executeStep()) {
        Journal journal;
        journal.path = row.getColumn(0).getString();
        if (!row.getColumn(1).isNull()) journal.run_id = row.getColumn(1).getInt64();
        journal.position.offset = row.getColumn(2).getInt64();
        journal.position.next_sequence = row.getColumn(3).getInt64();
        journal.position.tail_sha256 = row.getColumn(4).getString();
        journal.position.problem = row.getColumn(5).getString();
        journals.push_back(std::move(journal));
    }
    return journals;
}

/// Events in the first `until.offset` bytes.
Result<std::int64_t> count_events(Journal const& journal) {
    JournalPosition at;
    std::int64_t events = 0;
    while (at.offset < journal.position.offset) {
        OSORA_TRY(auto const piece, read_piece(journal.path, at, 8 << 20));
        for (auto const& record : piece.records) {
            if (static_cast<std::int64_t>(record.sequence) >= journal.position.next_sequence) break;
            events += protocol::holds_measurement(record.event) ? 0 : 1;
        }
        if (!piece.next.problem.empty() || piece.next.offset == at.offset) {
            return Error{Errc::corrupt,
                         piece.next.problem.empty() ? "it ends too early" : piece.next.problem};
        }
        at = piece.next;
    }
    return events;
}

class Checker {
public:
    explicit Checker(Connection& connection) : connection_(connection) {}

    HistoryCheck run() {
        check_file();
        for (auto const& journal : load_journals(connection_)) check_journal(journal);
        result_.runs =
            static_cast<int>(select_integer(connection_, "SELECT count(*) FROM run").value_or(0));
        if (auto const thinned = select_integer(connection_, "SELECT count(*) FROM kept")) {
            if (*thinned > 0) result_.notes.push_back(fmt::format("{} runs are thinned", *thinned));
        }
        return result_;
    }

private:
    void check_file() {
        auto& row = connection_.prepared(fmt::format("PRAGMA integrity_check({})", kProblemsMax));
        while (row.executeStep()) {
            auto const said = row.getColumn(0).getString();
            if (said != "ok") problem("history.db", said);
        }
        auto& orphan = connection_.prepared(
            "SELECT \"table\",count(*),parent FROM pragma_foreign_key_check GROUP BY 1,3");
        while (orphan.executeStep()) {
            problem("history.db",
                    fmt::format("{} rows of {} without their {}", orphan.getColumn(1).getInt64(),
                                orphan.getColumn(0).getString(), orphan.getColumn(2).getString()));
        }
    }

    void check_journal(Journal const& journal) {
        std::error_code missing;
        if (!std::filesystem::exists(journal.path, missing)) {
            result_.notes.push_back(journal.path + ": gone");
            return;
        }
        ++result_.journals;
        if (!journal.position.problem.empty()) {
            return problem(journal.path, journal.position.problem);
        }
        auto const same = still_holds(journal.path, journal.position);
        if (same.has_error()) return problem(journal.path, same.error().message);
        if (!*same) return problem(journal.path, "changed since it was read");
        auto const events = count_events(journal);
        if (events.has_error()) return problem(journal.path, events.error().message);
        auto const rows = select_integer(
            connection_, "SELECT count(*) FROM event WHERE run_id=?1 AND sequence NOT NULL",
            journal.run_id);
        if (rows.value_or(0) != *events) {
            problem(journal.path,
                    fmt::format("{} events, and {} in history.db", *events, rows.value_or(0)));
        }
    }

    void problem(std::string const& where, std::string const& what) {
        result_.problems.push_back(where + ": " + what);
    }

    Connection& connection_;
    HistoryCheck result_;
};

}  // namespace

Result<HistoryCheck> check_history(Store& store) {
    auto& connection = store.connection();
    return guarded(connection, "check history",
                   [&]() -> Result<HistoryCheck> { return Checker(connection).run(); });
}

}  // namespace osora::db
