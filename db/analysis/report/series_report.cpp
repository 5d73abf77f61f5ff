// Compares the runs that do the work of the newest run with enough steps.
#include "db/analysis/report/series_report.hpp"

#include "base/robust.hpp"
#include "db/analysis/cores.hpp"
#include "db/analysis/report/prediction_report.hpp"
#include "db/analysis/report/scaling_loss.hpp"
#include "db/record/facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace osora::db::analysis {
namespace {

using RunsOfSize = std::vector<SeriesRun const*>;

std::vector<int> rank_batches(ScalingRow const& row) {
    std::vector<int> batches;
    for (int const batch : row.global_batch) batches.push_back(batch / std::max(1, row.ranks));
    return batches;
}

/// Splits runs into those that can be compared and those that cannot.
RunsOfSize comparable(std::vector<SeriesRun> const& runs, SeriesReport& report) {
    auto const newest = std::find_if(runs.rbegin(), runs.rend(),
                                     [](auto const& run) { return has_enough_steps(run.summary); });
    if (newest != runs.rend()) report.work = newest->work;
    RunsOfSize members;
    for (auto const& run : runs) {
        auto const& record = run.summary.run;
        if (newest != runs.rend() && run.work != report.work) {
            report.left_out.push_back(
                {record.number, record.name,
                 "other work: " + describe_difference(run.work, report.work)});
        } else if (!has_enough_steps(run.summary)) {
            int const used = run.summary.measured ? run.summary.measured->steps_used : 0;
            report.left_out.push_back(
                {record.number, record.name,
                 fmt::format("{} steps after the warm-up, {} are needed", used, kStepsNeeded)});
        } else {
            members.push_back(&run);
        }
    }
    return members;
}

template <class F>
std::vector<double> over(RunsOfSize const& members, F figure) {
    std::vector<double> values;
    for (auto const* run : members) values.push_back(figure(run->summary));
    return values;
}

ScalingRow row_of(RunsOfSize const& members) {
    auto const& first = members.front()->summary;
    ScalingRow row;
    RunSize size = size_of(first);
    row.ranks = size.ranks;
    row.nodes = size.nodes;
    row.threads_per_rank = size.threads_per_rank;
    row.global_batch = std::move(size.global_batch);
    for (auto const* run : members) row.runs.push_back(run->summary.run.number);
    auto const times = over(members, [](auto& run) { return run.measured->step_s_median; });
    auto const between = median_and_mad(times);
    row.step_s = between.median;
    row.mad = std::max(median(over(members, [](auto& run) { return run.measured->step_s_mad; })),
                       between.mad);
    row.samples_per_s =
        median(over(members, [](auto& run) { return run.measured->samples_per_s; }));
    row.comm_share = median(over(members, [](auto& run) { return run.measured->comm_share; }));
    row.wait_share = median(over(members, [](auto& run) { return run.measured->wait_share; }));
    row.data_share = median(over(members, [](auto& run) { return run.measured->data_share; }));
    row.predicted_over_measured = median(over(members, [](auto& run) {
        bool const is_predicted =
            run.plan && run.plan->predicted.step_time_s > 0 && plan_covers(run);
        return is_predicted ? run.plan->predicted.step_time_s / run.measured->step_s_mix : kUnknown;
    }));
    auto const cores = core_use(first);
    row.shares_cores = cores.shared;
    row.cores = cores.text;
    return row;
}

/// Rows by size, each with its runs.
std::vector<RunsOfSize> sizes_of(RunsOfSize const& members) {
    std::map<RunSize, RunsOfSize> sizes;
    for (auto const* run : members) sizes[size_of(run->summary)].push_back(run);
    std::vector<RunsOfSize> rows;
    for (auto& [size, runs] : sizes) rows.push_back(std::move(runs));
    return rows;
}

void name_scaling(SeriesReport& report) {
    auto const& rows = report.rows;
    bool const known =
        std::ranges::none_of(rows, [](auto& row) { return row.global_batch.empty(); });
    auto const same = [&](auto value) {
        return known && std::ranges::all_of(
                            rows, [&](auto& row) { return value(row) == value(rows.front()); });
    };
    auto const joined = [](std::vector<int> batches) {
        bool const equal = std::ranges::all_of(batches, [&](int b) { return b == batches[0]; });
        if (equal) batches.resize(1);
        return fmt::format("{}", fmt::join(batches, ", "));
    };
    if (rows.empty() || rows.front().ranks == rows.back().ranks) return;
    if (same([](auto& row) { return row.global_batch; })) {
        report.scaling = Scaling::strong;
        report.held_equal = "global batch " + joined(rows.front().global_batch);
    } else if (same(rank_batches)) {
        report.scaling = Scaling::weak;
        report.held_equal = "batch of a rank " + joined(rank_batches(rows.front()));
    } else {
        report.scaling = Scaling::neither;
    }
}

void add_notes(SeriesReport& report) {
    auto const& rows = report.rows;
    if (report.scaling == Scaling::neither) {
        report.notes.push_back(
            "global batch and batch of a rank both change: efficiency mixes batch and size");
    }
    if (std::ranges::any_of(rows, [&](auto& row) {
            return row.threads_per_rank != rows.front().threads_per_rank;
        })) {
        report.notes.push_back("threads of a rank differ between rows: ranks are not alike");
    }
    for (auto const& row : rows) {
        if (!row.shares_cores) continue;
        report.notes.push_back(fmt::format("ranks share cores ({})", row.cores));
    }
    bool const one_machine = std::ranges::all_of(rows, [](auto& row) { return row.nodes == 1; });
    bool const several = std::ranges::any_of(rows, [](auto& row) { return row.ranks > 1; });
    bool const shared = std::ranges::any_of(rows, [](auto& row) { return row.shares_cores; });
    if (several && (one_machine || shared)) {
        report.notes.push_back(fmt::format("{}: efficiency is no statement about a network",
                                           one_machine
                                               ? "all ranks are on one machine"
                                               : "ranks of a machine slow each other down"));
    }
}

}  // namespace

SeriesReport series_report(std::string const& name, std::vector<SeriesRun> const& runs) {
    SeriesReport report;
    report.name = name;
    auto const members = comparable(runs, report);
    report.runs = static_cast<int>(members.size());
    auto const sizes = sizes_of(members);
    std::vector<BucketTimes> buckets;
    for (auto const& size : sizes) {
        report.rows.push_back(row_of(size));
        buckets.push_back(bucket_times(size));
    }
    name_scaling(report);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        auto& row = report.rows[i];
        row.efficiency = efficiency(buckets[0], report.rows[0].ranks, buckets[i], row.ranks);
        if (row.efficiency < kEfficiencyLow) row.loss = largest_loss(report.rows[0], row);
    }
    add_notes(report);
    for (auto& group : run_groups(runs)) {
        if (group.work == report.work) report.trends.push_back(detect(std::move(group)));
    }
    if (report.scaling == Scaling::one_size && !report.rows.empty()) {
        report.next.push_back("submit it at another size: --set resources.gpus_per_node=2");
    }
    return report;
}

}  // namespace osora::db::analysis
