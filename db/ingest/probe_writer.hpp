// Private to db/: what a probe measured, into its tables. May throw SQLite::Exception.
#pragma once

#include "db/store/connection_internal.hpp"
#include "protocol/journal/run_events.hpp"

namespace osora::db {

/// A part that does not read as one is left out: its record was not made by a prober of ours.
void save_probe_part(Connection& connection, std::int64_t run_id, std::uint64_t sequence,
                     protocol::ProbePart const& part);

}  // namespace osora::db
