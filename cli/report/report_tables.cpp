#include "cli/report/report_tables.hpp"

#include "cli/text/terminal.hpp"

#include <fmt/format.h>

#include <cmath>

namespace osora::cli {

using namespace db::analysis;

TextTable phase_table(RunReport const& report) {
    std::vector<double> seconds;
    for (auto const& phase : report.phases) seconds.push_back(phase.mean_s);
    auto const unit = time_unit(seconds);
    TextTable table;
    table.columns = {{"phase", "phase", false},
                     {unit.name + "/step", "mean_s"},
                     {"share", "share"},
                     {"expected", "predicted_s"}};
    for (auto const& phase : report.phases) {
        table.rows.push_back({text_cell(phase.name), seconds_cell(phase.mean_s, unit),
                              percent_cell(phase.share), seconds_cell(phase.predicted_s, unit)});
        if (phase.part_of_compute) table.rows.back()[0].text.insert(0, "  ");
    }
    return table;
}

TextTable bucket_table(RunReport const& report) {
    std::vector<double> seconds;
    for (auto const& bucket : report.buckets) seconds.push_back(bucket.measured.step_s_median);
    auto const unit = time_unit(seconds);
    TextTable table;
    table.columns = {{"bucket", "bucket", false},
                     {"steps", "steps"},
                     {"share", "share"},
                     {"samples", "samples_per_step"},
                     {unit.name + "/step ± MAD", "step_s"},
                     {"", "step_s_mad"},
                     {"expected", "predicted_s"},
                     {"pred/meas", "predicted_over_measured"}};
    for (auto const& row : report.buckets) {
        auto const& m = row.measured;
        table.rows.push_back({text_cell(clipped(m.bucket, 16)),
                              count_cell(m.steps),
                              percent_cell(row.share),
                              number_cell(m.samples_per_step),
                              spread_cell(m.step_s_median, m.step_s_mad, unit),
                              {"", raw_number(m.step_s_mad)},
                              seconds_cell(row.step_s.predicted, unit),
                              ratio_cell(row.step_s.ratio())});
        table.rows.back()[0].raw = m.bucket;
    }
    return table;
}

TextTable batch_table(db::PlanRecord const& plan) {
    std::vector<double> seconds;
    for (auto const& point : plan.batch_curve) seconds.push_back(point.step_time_s);
    auto const unit = time_unit(seconds);
    TextTable table;
    table.columns = {{"global batch", "global_batch_size"},
                     {"exposed comm", "exposed_comm_share"},
                     {unit.name + "/step", "step_time_s"},
                     {"samples/s", "samples_per_s"}};
    for (auto const& point : plan.batch_curve) {
        table.rows.push_back(
            {count_cell(point.global_batch_size), percent_cell(point.exposed_comm_share),
             seconds_cell(point.step_time_s, unit), number_cell(point.samples_per_s)});
    }
    return table;
}

TextTable collective_table(RunReport const& report) {
    constexpr double kMB = 1e6;
    std::vector<double> seconds;
    for (auto const& row : report.collectives) seconds.push_back(row.seconds);
    auto const unit = time_unit(seconds);
    TextTable table;
    table.columns = {{"collectives", "class", false},
                     {"", "collective", false},
                     {"", "backend", false},
                     {"ranks", "ranks"},
                     {"calls/step", "calls"},
                     {"MB/step", "mb"},
                     {unit.name + "/step", "seconds"},
                     {"exposed", "exposed_s"},
                     {"GB/s", "algbw_gbps"}};
    for (auto const& row : report.collectives) {
        table.rows.push_back({text_cell(clipped(row.name, 32)),
                              {"", row.collective},
                              {"", row.backend},
                              count_cell(row.ranks),
                              number_cell(row.calls),
                              number_cell(row.bytes / kMB),
                              seconds_cell(row.seconds, unit),
                              seconds_cell(row.exposed_s, unit),
                              number_cell(row.algbw_gbps)});
        table.rows.back()[0].raw = row.name;
    }
    return table;
}

TextTable probe_table(RunReport const& report) {
    TextTable table;
    table.columns = {{"node", "node", false},    {"leaf", "leaf", false}, {"Gbit/s", "gbit_s"},
                     {"of median", "of_median"}, {"samples", "samples"},  {"", "slow", false}};
    for (auto const& node : report.probe.nodes) {
        table.rows.push_back({text_cell(node.hostname),
                              {node.leaf.empty() ? "-" : printable(node.leaf), node.leaf},
                              number_cell(node.gbit_s),
                              ratio_cell(node.of_median),
                              count_cell(node.samples),
                              {node.bad ? "slow" : "", node.bad ? "1" : "0"}});
    }
    return table;
}

TextTable scaling_table(SeriesReport const& report) {
    std::vector<double> seconds;
    for (auto const& row : report.rows) seconds.push_back(row.step_s);
    auto const unit = time_unit(seconds);
    TextTable table;
    table.columns = {{"ranks", "ranks"},
                     {"nodes", "nodes"},
                     {"", "threads_per_rank"},
                     {unit.name + "/step ± MAD", "step_s"},
                     {"", "step_s_mad"},
                     {"samples/s", "samples_per_s"},
                     {"eff.", "efficiency"},
                     {"comm", "comm_share"},
                     {"wait", "wait_share"},
                     {"data", "data_share"},
                     {"pred/meas", "predicted_over_measured"},
                     {"", "shares_cores"},
                     {"", "runs", false}};
    for (auto const& row : report.rows) {
        std::string runs;
        for (int const run : row.runs) runs += fmt::format("{}{}", runs.empty() ? "" : " ", run);
        table.rows.push_back({count_cell(row.ranks),
                              count_cell(row.nodes),
                              {"", std::to_string(row.threads_per_rank)},
                              spread_cell(row.step_s, row.mad, unit),
                              {"", raw_number(row.mad)},
                              number_cell(row.samples_per_s),
                              percent_cell(row.efficiency),
                              percent_cell(row.comm_share),
                              percent_cell(row.wait_share),
                              percent_cell(row.data_share),
                              ratio_cell(row.predicted_over_measured),
                              {"", row.shares_cores ? "1" : "0"},
                              {row.loss.empty() ? "" : "<-", runs}});
    }
    return table;
}

}  // namespace osora::cli
