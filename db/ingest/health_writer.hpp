// Private to db/: the health records of a journal. May throw SQLite::Exception.
#pragma once

#include "db/store/connection_internal.hpp"
#include "protocol/journal/run_events.hpp"

namespace osora::db {

/// `health`: the event of `record`.
void save_health(Connection& connection, std::int64_t run_id, protocol::JournalRecord const& record,
                 protocol::NodeHealth const& health);

}  // namespace osora::db
