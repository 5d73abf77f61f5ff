// Private to db/: the views that users query. They are the contract (docs/guide/history.md); the
// tables behind them may change.
#pragma once

namespace osora::db {

class Connection;

/// Part of a migration: its steps run without views, then today's are made; a change of a view
/// takes a new migration (its text may be empty). Both may throw SQLite::Exception.
void drop_views(Connection& connection);
void make_views(Connection& connection);

}  // namespace osora::db
