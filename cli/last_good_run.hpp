// The run that a slow one is held against, when the user names only the slow one.
#pragma once

#include "base/result.hpp"
#include "db/analysis/history.hpp"
#include "db/store.hpp"

#include <string>

namespace osora::cli {

/// The number of the newest run before `bad` in its series that does the same work at the same size
/// and was faster (db::analysis::last_faster_run). not_found: there is none.
[[nodiscard]] Result<std::string> last_good_run(db::Store& store,
                                                db::analysis::RunHistory const& bad);

}  // namespace osora::cli
