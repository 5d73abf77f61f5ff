// Pure: a journal record as a row of the event table.
#pragma once

#include "db/record/run_record.hpp"
#include "protocol/journal/run_events.hpp"

namespace osora::db {

/// The body is the event's JSON with its "type", without the facts of a rank (they are in a
/// fingerprint).
[[nodiscard]] EventRecord event_row(protocol::JournalRecord const& record);

}  // namespace osora::db
