// history.db: SQLite behind one handle. It is an index of the runs' journals, so nothing in it is
// ever the only copy. WAL on a local disk; a rollback journal on network file systems (WAL needs
// shared memory). One thread per Store.
#pragma once

#include "base/files/files.hpp"
#include "base/result.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace osora::db {

class Connection;  // db/store/connection_internal.hpp, private to this folder

struct StoreOptions {
    std::chrono::milliseconds busy_wait{5000};  // for a lock that another program holds
    /// Replaced in tests; called once, for the folder of the file.
    std::function<Result<bool>(std::filesystem::path const&)> on_network = is_network_file_system;
};

class Store {
public:
    /// Opens the file, creates it if it is missing, and migrates its schema. busy: locked for
    /// longer than busy_wait (the message names the holder); corrupt: damaged or not a database
    /// (the file is not changed); invalid_input: another program's database, or a newer schema;
    /// out_of_space; io.
    [[nodiscard]] static Result<std::unique_ptr<Store>> open(std::filesystem::path const& file,
                                                             StoreOptions const& options = {});
    /// An empty store without a file.
    [[nodiscard]] static Result<std::unique_ptr<Store>> in_memory();

    explicit Store(std::unique_ptr<Connection> connection);
    Store(Store const&) = delete;
    Store& operator=(Store const&) = delete;
    ~Store();

    /// Empty for a store in memory.
    [[nodiscard]] std::filesystem::path const& file() const;
    [[nodiscard]] std::string journal_mode() const;  // "wal", "delete", "memory"
    [[nodiscard]] Connection& connection() { return *connection_; }

private:
    std::unique_ptr<Connection> connection_;
};

/// STATE/history.db
[[nodiscard]] std::filesystem::path history_file(std::filesystem::path const& state_dir);

}  // namespace osora::db
