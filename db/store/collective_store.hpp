// Private to db/: what the collectives of a run cost, into its rows and out of them. May throw
// SQLite::Exception.
#pragma once

#include "db/record/collective_record.hpp"
#include "db/store/connection_internal.hpp"
#include "protocol/steps/collectives.hpp"

#include <cstdint>
#include <vector>

namespace osora::db {

/// Adds a record of the journal, which has each once. What cannot be is left out.
void save_collectives(Connection& connection, std::int64_t run_id,
                      protocol::CollectiveSums const& sums);

/// Most exposed first.
[[nodiscard]] std::vector<CollectiveTotal> load_collectives(Connection& connection,
                                                            std::int64_t run_id);

}  // namespace osora::db
