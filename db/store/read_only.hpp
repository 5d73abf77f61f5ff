// Private to db/: guards around a user's statement. While they exist the connection is set to
// query_only, an authorizer allows only reads, and the progress handler checks for an end.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

struct sqlite3;

namespace osora::db {

/// What the guards observed. Must outlive them.
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
