// The scores of each node in each probe of history.db, for analysis::node_drift(). Read-only;
// errors are those of Store::open.
#pragma once

#include "base/result.hpp"
#include "db/analysis/node_drift.hpp"
#include "db/store/store.hpp"

#include <vector>

namespace osora::db {

/// Network scores of nodes that had a transfer, and reading rates of nodes that read alone.
[[nodiscard]] Result<std::vector<analysis::NodeScore>> load_node_scores(Store& store);

}  // namespace osora::db
