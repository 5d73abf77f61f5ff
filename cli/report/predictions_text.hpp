// osora report --predictions: predicted against measured step times of all runs. Pure.
#pragma once

#include "cli/report/report_render.hpp"
#include "db/analysis/report/prediction_report.hpp"

#include <string>

namespace osora::cli {

/// Not for html. JSON: one object, "schema": "osora.report/1", "kind": "predictions".
[[nodiscard]] std::string render(db::analysis::PredictionReport const& report, ReportFormat format);

}  // namespace osora::cli
