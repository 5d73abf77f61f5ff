// Whether history.db is sound and agrees with the journals. Reads all of both.
#pragma once

#include "base/result.hpp"
#include "db/store/store.hpp"

#include <string>
#include <vector>

namespace osora::db {

struct HistoryCheck {
    int runs = 0, journals = 0;  // number of each that was checked
    /// "history.db: ..." or "RUN_DIR/journal: ...": what is wrong; empty: nothing.
    std::vector<std::string> problems;
    std::vector<std::string> notes;  // journals that are gone, runs that were thinned
};

/// Runs SQLite's integrity_check and foreign_key_check; reads each journal to where it was
/// ingested, and compares its position and number of events with the rows. Errors are those of
/// Store::open.
[[nodiscard]] Result<HistoryCheck> check_history(Store& store);

}  // namespace osora::db
