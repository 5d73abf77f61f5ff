// The run that a slow run is compared with, when the user names only the slow one.
#pragma once

#include "base/result.hpp"
#include "db/analysis/history.hpp"
#include "db/store/store.hpp"

#include <string>

namespace osora::cli {

/// The number of the last run before `bad` in its series that has ended and did the same work at
/// the same size, as fast as such runs usually were (db::analysis::good_run_before). not_found:
/// there is none.
[[nodiscard]] Result<std::string> last_good_run(db::Store& store,
                                                db::analysis::RunHistory const& bad);

}  // namespace osora::cli
