// user_version counts the completed steps; if two programs open a new file at once, each step runs
// once, because the version is read again under the exclusive lock.
#include "db/store/migrate.hpp"

#include "db/migrations/migrations.hpp"
#include "db/store/connection_internal.hpp"
#include "db/store/views.hpp"

#include <fmt/format.h>

namespace osora::db {
namespace {

int pragma_integer(Connection& connection, char const* sql) {
    return connection.database().execAndGet(sql).getInt();
}

Result<void> run_missing_steps(Connection& connection, int version) {
    auto& database = connection.database();
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::EXCLUSIVE);
    version = pragma_integer(connection, "PRAGMA user_version");
    drop_views(connection);
    for (; version < schema_version(); ++version) {
        database.exec(*kMigrations[static_cast<std::size_t>(version)]);
    }
    make_views(connection);
    database.exec(fmt::format("PRAGMA application_id={}", kApplicationId));
    database.exec(fmt::format("PRAGMA user_version={}", schema_version()));
    transaction.commit();
    return {};
}

}  // namespace

int schema_version() {
    return static_cast<int>(kMigrations.size());
}

Result<void> check_owner(Connection& connection) {
    // Counts tables first: another osora may be creating them, and sets its id in the same
    // transaction.
    int const tables = pragma_integer(connection, "SELECT count(*) FROM sqlite_master");
    int const id = pragma_integer(connection, "PRAGMA application_id");
    if (id == kApplicationId) return {};
    if (id == 0 && tables == 0) return {};  // new
    return Error{Errc::invalid_input,
                 fmt::format("{}: a database of another program (application id {:#x}, {} tables); "
                             "move it away or choose another state folder",
                             connection.file().string(), id, tables)};
}

Result<void> migrate(Connection& connection) {
    int const version = pragma_integer(connection, "PRAGMA user_version");
    if (version > schema_version()) {
        return Error{Errc::invalid_input,
                     fmt::format("{}: written by a newer osora (schema {}, this one knows up to "
                                 "{}); use that osora, or another state folder",
                                 connection.file().string(), version, schema_version())};
    }
    if (version == schema_version()) return {};
    return run_missing_steps(connection, version);
}

}  // namespace osora::db
