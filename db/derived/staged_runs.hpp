// Private to db/: runs that an older version put into the series of their run file without its
// [[stage]] tables. May throw SQLite::Exception.
#pragma once

#include "db/store/connection_internal.hpp"

#include <cstdint>

namespace osora::db {

/// Part of a transaction: moves the runs of a series whose plan has stages that the series does not
/// have to the series of their work. Idempotent.
void move_staged_runs(Connection& connection, std::int64_t series_id);

}  // namespace osora::db
