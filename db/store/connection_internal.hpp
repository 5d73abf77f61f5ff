// Private to db/: one SQLite connection with its prepared statements, and the boundary where
// SQLiteCpp's exceptions become Results.
#pragma once

#include "base/result.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <cerrno>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace osora::db {

class Connection {
public:
    Connection(std::filesystem::path file, std::chrono::milliseconds busy_wait);

    [[nodiscard]] std::filesystem::path const& file() const { return file_; }
    [[nodiscard]] SQLite::Database& database() { return database_; }
    /// The prepared statement for this text, reset and without bindings; it is cached.
    [[nodiscard]] SQLite::Statement& prepared(std::string_view sql);
    /// The error for `exception`, thrown during `what`. SQLite does not store the cause of a failed
    /// commit, so the caller passes errno as it was when the exception was caught.
    [[nodiscard]] Error error(std::string_view what, SQLite::Exception const& exception,
                              int system_error) const;

private:
    std::filesystem::path file_;  // empty: in memory
    std::chrono::milliseconds busy_wait_;
    SQLite::Database database_;
    std::map<std::string, SQLite::Statement, std::less<>> statements_;
};

/// Error for SQLite's result code; `system_error` is the errno that caused it, or 0.
[[nodiscard]] Error database_error(std::filesystem::path const& file, int code, int system_error,
                                   std::string_view message);

/// Runs `action`, which may throw SQLite::Exception and returns a Result.
template <class F>
auto guarded(Connection& connection, std::string_view what, F action) -> std::invoke_result_t<F> {
    try {
        return action();
    } catch (SQLite::Exception const& exception) {
        int const system_error = errno;
        return connection.error(what, exception, system_error);
    }
}

/// Runs `action` in a transaction that takes the write lock first; rolled back on failure.
template <class F>
auto in_transaction(Connection& connection, std::string_view what, F action)
    -> std::invoke_result_t<F> {
    return guarded(connection, what, [&]() -> std::invoke_result_t<F> {
        SQLite::Transaction transaction(connection.database(),
                                        SQLite::TransactionBehavior::IMMEDIATE);
        // Caught before the rollback, which may change errno.
        return guarded(connection, what, [&]() -> std::invoke_result_t<F> {
            auto result = action();
            if (result.has_value()) transaction.commit();
            return result;
        });
    });
}

template <class T>
void bind_one(SQLite::Statement& statement, int index, T const& value) {
    if constexpr (std::same_as<T, bool>) {
        statement.bind(index, value ? 1 : 0);
    } else if constexpr (std::integral<T>) {
        statement.bind(index, static_cast<std::int64_t>(value));
    } else if constexpr (std::floating_point<T>) {
        statement.bind(index, static_cast<double>(value));  // SQLite stores NaN as NULL
    } else if constexpr (std::same_as<T, std::span<std::byte const>>) {
        statement.bind(index, value.data(), static_cast<int>(value.size()));
    } else if constexpr (requires { value.has_value(); }) {
        if (value) bind_one(statement, index, *value);
    } else {
        statement.bind(index, std::string(value));
    }
}

/// Binds ?1, ?2, ... in order; an empty optional is NULL.
template <class... A>
SQLite::Statement& bind(SQLite::Statement& statement, A const&... values) {
    int index = 0;
    (bind_one(statement, ++index, values), ...);
    return statement;
}

/// Runs a statement that returns no rows.
template <class... A>
void execute(Connection& connection, std::string_view sql, A const&... values) {
    bind(connection.prepared(sql), values...).exec();
}

/// The first column of the first row, if there is one and it is not NULL.
template <class... A>
std::optional<std::int64_t> select_integer(Connection& connection, std::string_view sql,
                                           A const&... values) {
    auto& statement = bind(connection.prepared(sql), values...);
    std::optional<std::int64_t> result;
    if (statement.executeStep() && !statement.isColumnNull(0)) {
        result = statement.getColumn(0).getInt64();
    }
    statement.reset();
    return result;
}

/// NULL reads as NaN.
[[nodiscard]] double real_or_nan(SQLite::Column const& column);

}  // namespace osora::db
