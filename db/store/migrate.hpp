// Private to db/: brings a database to today's schema, all or nothing. May throw SQLite::Exception
// (see guarded() in connection.hpp).
#pragma once

#include "base/result.hpp"

namespace osora::db {

class Connection;

/// invalid_input when the file is another program's database.
[[nodiscard]] Result<void> check_owner(Connection& connection);

/// Runs the steps that are missing in one exclusive transaction; invalid_input when the schema is
/// newer than this program.
[[nodiscard]] Result<void> migrate(Connection& connection);

/// The schema that this program writes.
[[nodiscard]] int schema_version();

}  // namespace osora::db
