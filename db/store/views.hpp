// Private to db/: the views that users query. They are the contract (docs/guide/history.md); the
// tables behind them may change.
#pragma once

namespace osora::db {

class Connection;

/// Drops the views of the schema before and makes today's. Part of a migration; a change of a view
/// takes a new migration (its text may be empty). May throw SQLite::Exception.
void make_views(Connection& connection);

}  // namespace osora::db
