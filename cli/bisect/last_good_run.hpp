// The run that a slow one is held against, when the user names only the slow one.
#pragma once

#include "base/result.hpp"
#include "db/analysis/history.hpp"
#include "db/store/store.hpp"

#include <string>

namespace osora::cli {

/// The number of the run before `bad` in its series that did the same work at the same size and was
/// as fast as such runs usually were (db::analysis::good_run_before). not_found: there is none.
[[nodiscard]] Result<std::string> last_good_run(db::Store& store,
                                                db::analysis::RunHistory const& bad);

}  // namespace osora::cli
