// Besides the guards of read_only.hpp, the statement itself must be read-only; names in SQLite's
// error messages are looked up after the guards are removed.
#include "db/store/sql_query.hpp"

#include "base/text/nearest.hpp"
#include "base/text/units.hpp"
#include "db/store/connection_internal.hpp"
#include "db/store/read_only.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <memory>
#include <utility>

namespace osora::db {
namespace {

using Clock = std::chrono::steady_clock;
using Statement = std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)>;

std::vector<std::string> first_column(sqlite3* handle, char const* sql) {
    std::vector<std::string> names;
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(handle, sql, -1, &raw, nullptr) != SQLITE_OK) return names;
    Statement const statement(raw, &sqlite3_finalize);
    while (sqlite3_step(raw) == SQLITE_ROW) {
        if (auto const* text = sqlite3_column_text(raw, 0)) {
            names.emplace_back(reinterpret_cast<char const*>(text));
        }
    }
    return names;
}

/// "; did you mean X?" to append to "no such table: Y" or "no such column: a.Y".
std::string nearest_hint(sqlite3* handle, std::string_view message, std::string_view sql) {
    auto const colon = message.find(": ");
    if (!message.starts_with("no such ") || colon == std::string_view::npos) return "";
    auto wanted = message.substr(colon + 2);
    if (auto const dot = wanted.rfind('.'); dot != std::string_view::npos) {
        wanted.remove_prefix(dot + 1);
    }
    auto const tables = first_column(
        handle, "SELECT name FROM sqlite_master WHERE type IN('table','view') ORDER BY type DESC");
    std::vector<std::string> names = tables;
    if (message.starts_with("no such column")) {
        names.clear();
        for (auto const& table : tables) {
            if (sql.find(table) == std::string_view::npos) continue;
            for (auto& column : first_column(
                     handle, ("SELECT name FROM pragma_table_info('" + table + "')").c_str())) {
                names.push_back(std::move(column));
            }
        }
    }
    std::vector<std::string_view> const candidates(names.begin(), names.end());
    if (auto const near = nearest_name(wanted, candidates)) {
        return fmt::format("; did you mean {}?", *near);
    }
    return message.starts_with("no such table") ? "; osora history sql alone lists them" : "";
}

SqlValue value_of(sqlite3_stmt* row, int column) {
    auto const bytes = [&](void const* data) {
        auto const size = static_cast<std::size_t>(sqlite3_column_bytes(row, column));
        return std::string(static_cast<char const*>(data), data == nullptr ? 0 : size);
    };
    switch (sqlite3_column_type(row, column)) {
        case SQLITE_INTEGER:
            return static_cast<std::int64_t>(sqlite3_column_int64(row, column));
        case SQLITE_FLOAT:
            return sqlite3_column_double(row, column);
        case SQLITE_TEXT:
            return bytes(sqlite3_column_text(row, column));
        case SQLITE_BLOB:
            return SqlBlob{bytes(sqlite3_column_blob(row, column))};
        default:
            return std::monostate();
    }
}

std::size_t bytes_of(SqlValue const& value) {
    constexpr std::size_t kEach = sizeof(SqlValue);
    if (auto const* text = std::get_if<std::string>(&value)) return kEach + text->size();
    if (auto const* blob = std::get_if<SqlBlob>(&value)) return kEach + blob->bytes.size();
    return kEach;
}

class Query {
public:
    Query(Connection& connection, std::string_view sql, SqlLimits const& limits)
        : connection_(connection),
          handle_(connection.database().getHandle()),
          sql_(sql),
          limits_(limits),
          watch_{Clock::now() + limits.time, limits.stopped, false, false, {}} {}

    Result<SqlResult> run() {
        auto result = read();
        if (result.has_value() || !failed_) return result;
        // Formatted here, after the guards are removed: the hint queries the database for its
        // names.
        std::string const message = std::move(result).error().message;
        return Error{Errc::invalid_input, message + nearest_hint(handle_, message, sql_)};
    }

private:
    Result<SqlResult> read() {
        ReadOnly const walls(handle_, watch_);
        sqlite3_stmt* raw = nullptr;
        char const* tail = nullptr;
        int code =
            sqlite3_prepare_v2(handle_, sql_.data(), static_cast<int>(sql_.size()), &raw, &tail);
        Statement const statement(raw, &sqlite3_finalize);
        if (code != SQLITE_OK) return failure(code);
        OSORA_TRY_VOID(check(raw, tail));
        SqlResult result;
        for (int i = 0; i < sqlite3_column_count(raw); ++i) {
            result.columns.emplace_back(sqlite3_column_name(raw, i));
        }
        std::size_t bytes = 0;
        while ((code = sqlite3_step(raw)) == SQLITE_ROW) {
            if (result.rows.size() == limits_.rows) {
                result.more = true;
                return result;
            }
            auto& row = result.rows.emplace_back();
            for (int i = 0; i < sqlite3_column_count(raw); ++i) {
                row.push_back(value_of(raw, i));
                bytes += bytes_of(row.back());
            }
            if (bytes > limits_.bytes) return too_large(result.rows.size());
        }
        if (code != SQLITE_DONE) return failure(code);
        return result;
    }

    /// Requires a single statement that only reads.
    Result<void> check(sqlite3_stmt* statement, char const* tail) {
        if (statement == nullptr) return Error{Errc::invalid_input, "no statement; try SELECT"};
        sqlite3_stmt* next = nullptr;
        auto const left = static_cast<int>(sql_.data() + sql_.size() - tail);
        int const code = sqlite3_prepare_v2(handle_, tail, left, &next, nullptr);
        Statement const second(next, &sqlite3_finalize);
        if (code != SQLITE_OK || next != nullptr) {
            return Error{Errc::invalid_input, "one statement at a time"};
        }
        if (sqlite3_stmt_readonly(statement) == 0 || sqlite3_column_count(statement) == 0) {
            return Error{Errc::invalid_input, "the history is only read here: try SELECT"};
        }
        return {};
    }

    Error failure(int code) {
        if (watch_.stopped) return {Errc::cancelled, "interrupted"};
        if (watch_.late) {
            auto const seconds = std::chrono::duration<double>(limits_.time).count();
            return {Errc::timed_out, fmt::format("not done within {:g} s; give it a WHERE run=... "
                                                 "or a longer --time-limit",
                                                 seconds)};
        }
        if ((code & 0xff) == SQLITE_AUTH || !watch_.refused.empty()) {
            return {Errc::invalid_input,
                    fmt::format("{}: not allowed; the history is only read here", watch_.refused)};
        }
        int const system_error = sqlite3_system_errno(handle_);
        std::string const message = sqlite3_errmsg(handle_);
        switch (code & 0xff) {
            case SQLITE_BUSY:
            case SQLITE_LOCKED:
            case SQLITE_IOERR:
            case SQLITE_CORRUPT:
            case SQLITE_NOTADB:
            case SQLITE_CANTOPEN:
                return database_error(connection_.file(), code, system_error, message);
            case SQLITE_NOMEM:
                return {Errc::invalid_input, "it needs more than " +
                                                 format_bytes(kSqlHeapBytesMax) +
                                                 " of memory; narrow it"};
            default:
                failed_ = true;
                return {Errc::invalid_input, message};
        }
    }

    Error too_large(std::size_t rows) const {
        return {Errc::invalid_input,
                fmt::format("the result is larger than {} after {} rows; narrow it or use --limit",
                            format_bytes(static_cast<std::int64_t>(limits_.bytes)),
                            format_count(static_cast<std::int64_t>(rows)))};
    }

    Connection& connection_;
    sqlite3* handle_;
    std::string_view sql_;
    SqlLimits const& limits_;
    SqlWatch watch_;
    bool failed_ = false;  // SQLite did not understand the text
};

}  // namespace

Result<SqlResult> query_sql(Store& store, std::string_view sql, SqlLimits const& limits) {
    constexpr std::size_t kSqlBytesMax = 1 << 20;
    if (sql.size() > kSqlBytesMax) {
        return Error{Errc::invalid_input, fmt::format("a query of {}; the limit is {}",
                                                      format_bytes(std::int64_t(sql.size())),
                                                      format_bytes(kSqlBytesMax))};
    }
    if (sql.find('\0') != std::string_view::npos) {
        return Error{Errc::invalid_input, "the query holds a NUL byte"};
    }
    return Query(store.connection(), sql, limits).run();
}

}  // namespace osora::db
