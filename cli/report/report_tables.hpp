// Private to the report commands: the tables of a report, and its text formats.
#pragma once

#include "cli/report/report_render.hpp"
#include "cli/text/text_table.hpp"

namespace osora::cli {

[[nodiscard]] TextTable phase_table(db::analysis::RunReport const& report);
[[nodiscard]] TextTable bucket_table(db::analysis::RunReport const& report);
/// What the plan expected of its own batch and of others.
[[nodiscard]] TextTable batch_table(db::PlanRecord const& plan);
/// Cost of the collectives of a step, by class.
[[nodiscard]] TextTable collective_table(db::analysis::RunReport const& report);
/// Nodes of a probe.
[[nodiscard]] TextTable probe_table(db::analysis::RunReport const& report);
[[nodiscard]] TextTable scaling_table(db::analysis::SeriesReport const& report);

/// The first line of a series' report, and the text below its table.
[[nodiscard]] std::string series_title(db::analysis::SeriesReport const& report);
[[nodiscard]] std::vector<std::string> series_remarks(db::analysis::SeriesReport const& report);

[[nodiscard]] std::string run_report_text(db::analysis::RunReport const& report);
[[nodiscard]] std::string series_report_text(db::analysis::SeriesReport const& report);
/// The paragraphs of the text format as lists, its tables as tables.
[[nodiscard]] std::string run_report_markdown(db::analysis::RunReport const& report);
[[nodiscard]] std::string series_report_markdown(db::analysis::SeriesReport const& report);
/// section,item,quantity,value
[[nodiscard]] std::string run_report_csv(db::analysis::RunReport const& report);

}  // namespace osora::cli
