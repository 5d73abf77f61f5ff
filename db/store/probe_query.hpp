// Private to db/: reads a probe's measurements. May throw SQLite::Exception.
#pragma once

#include "db/record/probe_record.hpp"
#include "db/store/connection_internal.hpp"

namespace osora::db {

/// Empty for a run without a probe.
[[nodiscard]] ProbeRecord load_probe(Connection& connection, std::int64_t run_id);

}  // namespace osora::db
