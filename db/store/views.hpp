// Private to db/: the views that users query. They are the contract (docs/guide/history.md); the
// underlying tables may change.
#pragma once

namespace osora::db {

class Connection;

/// Part of a migration: steps run without views, then the current views are created; a change of a
/// view needs a new migration (its text may be empty). Both may throw SQLite::Exception.
void drop_views(Connection& connection);
void make_views(Connection& connection);

}  // namespace osora::db
