// Private to db/: migrates a database to the current schema, all or nothing. May throw
// SQLite::Exception (see guarded() in connection.hpp).
#pragma once

#include "base/result.hpp"

namespace osora::db {

class Connection;

/// invalid_input when the file is another program's database.
[[nodiscard]] Result<void> check_owner(Connection& connection);

/// Runs the missing steps in one exclusive transaction; invalid_input when the schema is newer than
/// this program.
[[nodiscard]] Result<void> migrate(Connection& connection);

/// The schema version that this program writes.
[[nodiscard]] int schema_version();

}  // namespace osora::db
