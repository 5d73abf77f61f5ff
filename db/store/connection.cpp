// Translates SQLite's errors for users (locked, damaged, full); and the statement cache.
#include "db/store/connection_internal.hpp"

#include "base/files/files.hpp"
#include "db/store/lock_holder.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <utility>
#include <vector>

namespace osora::db {
namespace {

std::string shown_name(std::filesystem::path const& file) {
    return file.empty() ? "history in memory" : file.string();
}

bool is_full(int code, int system_error) {
    if ((code & 0xff) == SQLITE_FULL) return true;
    return (code & 0xff) == SQLITE_IOERR &&
           (system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG);
}

/// Why SQLite cannot open `file`. errno may be that of a side file that need not exist: what may
/// not be done with the file and its folder says more. 0: not known.
int cause_of_no_open(std::filesystem::path const& file, int system_error) {
    if (file.empty() || ::access(file.c_str(), F_OK) != 0) return system_error;
    auto const folder = std::filesystem::absolute(file).parent_path();
    bool const is_refused = ::access(file.c_str(), R_OK | W_OK) != 0 ||
                            ::access(folder.c_str(), R_OK | W_OK | X_OK) != 0;
    if (is_refused) return errno;
    return system_error == ENOENT ? 0 : system_error;
}

}  // namespace

Connection::Connection(std::filesystem::path file, std::chrono::milliseconds busy_wait)
    : file_(std::move(file)),
      busy_wait_(busy_wait),
      database_(file_.empty() ? ":memory:" : file_.string(),
                SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, static_cast<int>(busy_wait.count())) {
}

SQLite::Statement& Connection::prepared(std::string_view sql) {
    auto found = statements_.find(sql);
    if (found == statements_.end()) {
        std::string text(sql);
        SQLite::Statement statement(database_, text);
        found = statements_.emplace(std::move(text), std::move(statement)).first;
    }
    found->second.tryReset();
    found->second.clearBindings();
    return found->second;
}

Error Connection::error(std::string_view what, SQLite::Exception const& exception,
                        int system_error) const {
    int const code = exception.getExtendedErrorCode();
    Error result = database_error(file_, code, system_error, exception.what());
    if (result.code == Errc::busy) {
        std::vector<std::filesystem::path> files{file_, file_.string() + "-shm",
                                                 file_.string() + "-wal"};
        auto const holder = lock_holder(files);
        result.message +=
            fmt::format(" for {:.1f} s", static_cast<double>(busy_wait_.count()) / 1e3);
        if (!holder.empty()) result.message += " by " + holder;
    }
    return std::move(result).in(what);
}

Error database_error(std::filesystem::path const& file, int code, int system_error,
                     std::string_view message) {
    int const primary = code & 0xff;
    if (primary == SQLITE_CANTOPEN) system_error = cause_of_no_open(file, system_error);
    if (is_full(code, system_error)) {
        return {Errc::out_of_space,
                fmt::format("{}: no space left; the journals are kept and read again later",
                            shown_name(file))};
    }
    if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) {
        return {Errc::busy, fmt::format("{}: locked", shown_name(file))};
    }
    if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) {
        return {Errc::corrupt,
                fmt::format(
                    "{}: damaged ({}); `osora history rebuild` rebuilds it from the runs' journals",
                    shown_name(file), message)};
    }
    if (system_error != 0 && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN)) {
        return file_error(system_error, message, file);
    }
    return {Errc::io, fmt::format("{}: {}", shown_name(file), message)};
}

double real_or_nan(SQLite::Column const& column) {
    return column.isNull() ? std::numeric_limits<double>::quiet_NaN() : column.getDouble();
}

}  // namespace osora::db
