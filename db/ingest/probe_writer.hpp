// Private to db/: writes a probe's measurements to their tables. May throw SQLite::Exception.
#pragma once

#include "db/store/connection_internal.hpp"
#include "protocol/journal/run_events.hpp"

namespace osora::db {

/// A part that cannot be parsed is skipped: it was not written by osora's prober.
void save_probe_part(Connection& connection, std::int64_t run_id, std::uint64_t sequence,
                     protocol::ProbePart const& part);

}  // namespace osora::db
