// Refuses by default: a new feature of SQLite is not allowed until it is listed here.
#include "db/store/read_only.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace osora::db {
namespace {

constexpr int kOperationsBetweenLooks = 20'000;  // instructions of SQLite's virtual machine: about
                                                 // 1 ms

/// Pragmas that only return information.
constexpr std::array<std::string_view, 14> kPragmas{
    "table_info",  "table_xinfo",     "table_list",       "index_list",       "index_info",
    "index_xinfo", "database_list",   "foreign_key_list", "function_list",    "collation_list",
    "pragma_list", "compile_options", "module_list",      "foreign_key_check"};

int look(void* data) {
    auto& watch = *static_cast<SqlWatch*>(data);
    watch.stopped = watch.asked_to_stop && watch.asked_to_stop();
    watch.late = std::chrono::steady_clock::now() >= watch.deadline;
    return watch.stopped || watch.late ? 1 : 0;
}

int refuse(SqlWatch& watch, std::string what) {
    if (watch.refused.empty()) watch.refused = std::move(what);
    return SQLITE_DENY;
}

int authorize(SqlWatch& watch, int action, char const* first, char const* second) {
    std::string_view const name = first == nullptr ? "" : first;
    switch (action) {
        case SQLITE_SELECT:
        case SQLITE_READ:
        case SQLITE_RECURSIVE:
            return SQLITE_OK;
        case SQLITE_FUNCTION:
            if (second != nullptr && std::string_view(second) == "load_extension") {
                return refuse(watch, "load_extension()");
            }
            return SQLITE_OK;
        case SQLITE_PRAGMA:
            if (std::ranges::find(kPragmas, name) != kPragmas.end()) return SQLITE_OK;
            return refuse(watch, fmt::format("PRAGMA {}", name));
        case SQLITE_ATTACH:
        case SQLITE_DETACH:
            return refuse(watch, "ATTACH and DETACH");
        case SQLITE_TRANSACTION:
        case SQLITE_SAVEPOINT:
            return refuse(watch, "a transaction");
        default:
            return refuse(watch, "a statement that writes");
    }
}

}  // namespace

ReadOnly::ReadOnly(sqlite3* handle, SqlWatch& watch)
    : handle_(handle),
      length_(sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kSqlValueBytesMax)),
      heap_(sqlite3_hard_heap_limit64(kSqlHeapBytesMax)) {
    // A table-valued function like pragma_X() or json_each() declares itself at its first use,
    // which looks like a CREATE TABLE.
    for (auto const pragma : kPragmas) touch(fmt::format("pragma_{}", pragma));
    for (char const* function : {"json_each", "json_tree"}) touch(function);
    sqlite3_exec(handle, "PRAGMA query_only=ON", nullptr, nullptr, nullptr);
    auto const ask = [](void* data, int action, char const* first, char const* second, auto...) {
        return authorize(*static_cast<SqlWatch*>(data), action, first, second);
    };
    sqlite3_set_authorizer(handle, ask, &watch);
    sqlite3_progress_handler(handle, kOperationsBetweenLooks, &look, &watch);
}

ReadOnly::~ReadOnly() {
    sqlite3_progress_handler(handle_, 0, nullptr, nullptr);
    sqlite3_set_authorizer(handle_, nullptr, nullptr);
    sqlite3_exec(handle_, "PRAGMA query_only=OFF", nullptr, nullptr, nullptr);
    sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, length_);
    sqlite3_hard_heap_limit64(heap_);
}

void ReadOnly::touch(std::string const& table) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(handle_, ("SELECT 1 FROM " + table).c_str(), -1, &statement, nullptr);
    sqlite3_finalize(statement);
}

}  // namespace osora::db
