// Whether history.db is sound and says what the journals say. Reads all of both.
#pragma once

#include "base/result.hpp"
#include "db/store/store.hpp"

#include <string>
#include <vector>

namespace osora::db {

struct HistoryCheck {
    int runs = 0, journals = 0;  // that were looked at
    /// "history.db: ..." or "RUN_DIR/journal: ...": what is wrong; empty: nothing.
    std::vector<std::string> problems;
    std::vector<std::string> notes;  // journals that are gone, runs that were thinned
};

/// SQLite's integrity_check and foreign_key_check; each journal through to where it was read, its
/// place and its number of events against the rows. Errors are those of Store::open.
[[nodiscard]] Result<HistoryCheck> check_history(Store& store);

}  // namespace osora::db
