// Private to db/: writes and reads the cost of a run's collectives. May throw SQLite::Exception.
#pragma once

#include "db/record/collective_record.hpp"
#include "db/store/connection_internal.hpp"
#include "protocol/steps/collectives.hpp"

#include <cstdint>
#include <vector>

namespace osora::db {

/// Adds a record of the journal, which has each once. Skips invalid values.
void save_collectives(Connection& connection, std::int64_t run_id,
                      protocol::CollectiveSums const& sums);

/// Most exposed first.
[[nodiscard]] std::vector<CollectiveTotal> load_collectives(Connection& connection,
                                                            std::int64_t run_id);

}  // namespace osora::db
