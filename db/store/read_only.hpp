// Private to db/: walls around a statement of a user. While they stand the connection is set to
// query_only, an authorizer lets through only what reads, and the progress handler asks for an end.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

struct sqlite3;

namespace osora::db {

/// What the walls saw. Outlives them.
struct SqlWatch {
    std::chrono::steady_clock::time_point deadline;
    std::function<bool()> const& asked_to_stop;  // may be empty
    bool late = false, stopped = false;
    std::string refused;  // the first thing that was not allowed
};

constexpr std::int64_t kSqlHeapBytesMax = std::int64_t{2} << 30;  // sorting, randomblob(1e9)
constexpr int kSqlValueBytesMax = 64 << 20;

class ReadOnly {
public:
    ReadOnly(sqlite3* handle, SqlWatch& watch);
    ~ReadOnly();
    ReadOnly(ReadOnly const&) = delete;
    ReadOnly& operator=(ReadOnly const&) = delete;

private:
    void touch(std::string const& table);

    sqlite3* handle_;
    int length_;
    std::int64_t heap_;
};

}  // namespace osora::db
