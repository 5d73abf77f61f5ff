// A user's own SELECT on history.db. Whatever its text, it cannot change the file, open another one
// or run forever.
#pragma once

#include "base/result.hpp"
#include "db/store/store.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace osora::db {

struct SqlBlob {
    std::string bytes;
    friend bool operator==(SqlBlob const&, SqlBlob const&) = default;
};
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string, SqlBlob>;

struct SqlResult {
    std::vector<std::string> columns;
    std::vector<std::vector<SqlValue>> rows;
    bool more = false;  // there are more rows than the limit
};

struct SqlLimits {
    std::chrono::milliseconds time{30'000};
    std::size_t rows = SIZE_MAX;
    std::size_t bytes = std::size_t{256} << 20;  // of the result; one value: 64 MiB
    std::function<bool()> stopped = {};          // called often; true ends the query
};

/// Runs one read-only statement. invalid_input: not a single SELECT, something that is not allowed,
/// SQLite's error with the nearest existing name, a result over the limit; timed_out; cancelled:
/// `stopped`; else as Store::open.
[[nodiscard]] Result<SqlResult> query_sql(Store& store, std::string_view sql,
                                          SqlLimits const& limits = {});

}  // namespace osora::db
