// What the tests of history.db share: a state folder, the database's content as text without its
// internal numbers, and the same text computed from records by brute force.
#pragma once

#include "db/store/store.hpp"
#include "tests/unit/db/run_maker.hpp"

#include <filesystem>
#include <string>

namespace osora::db::test {

/// A folder that goes with the object.
class StateDir {
public:
    StateDir();
    ~StateDir();
    StateDir(StateDir const&) = delete;
    StateDir& operator=(StateDir const&) = delete;
    [[nodiscard]] std::filesystem::path const& path() const { return path_; }

private:
    std::filesystem::path path_;
};

/// What `sql` answers, a line a row, "|" between columns; read with plain SQLite.
[[nodiscard]] std::string ask(std::filesystem::path const& database, std::string const& sql);

/// Every row of a run, ordered, with uuids and names in place of ids; read with plain SQLite from
/// outside the code under test.
[[nodiscard]] std::string dump(std::filesystem::path const& database);

/// The steps of one run ("uuid step attempt ranks samples bucket repeated metric n mean min max
/// argmax", one line a metric), as the database has them.
[[nodiscard]] std::string dump_steps(std::filesystem::path const& database);
/// The same from the records, one step and one rank group at a time.
[[nodiscard]] std::string expected_steps(Records const& records);

}  // namespace osora::db::test
