// The measurements in the history of a run that was just followed.
#pragma once

#include "cli/command/context.hpp"
#include "cli/run/runs.hpp"
#include "db/analysis/report/run_report.hpp"

namespace osora::cli {

[[nodiscard]] Result<db::analysis::RunReport> report_of(Context const& context,
                                                        RunFolder const& folder);

}  // namespace osora::cli
