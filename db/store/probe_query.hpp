// Private to db/: what a probe measured, out of its tables. May throw SQLite::Exception.
#pragma once

#include "db/record/probe_record.hpp"
#include "db/store/connection_internal.hpp"

namespace osora::db {

/// Empty for a run that probed nothing.
[[nodiscard]] ProbeRecord load_probe(Connection& connection, std::int64_t run_id);

}  // namespace osora::db
