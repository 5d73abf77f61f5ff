// Compares the runs that do the work of the newest run that is over and has enough steps.
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
#include <utility>

namespace osora::db::analysis {
namespace {

using RunsOfSize = std::vector<SeriesRun const*>;

/// By bucket of the run file, then of its stages; empty = not known.
std::vector<int> all_batches(ScalingRow const& row) {
    auto batches = row.global_batch;
    if (!batches.empty()) {
        batches.insert(batches.end(), row.stage_batch.begin(), row.stage_batch.end());
    }
    return batches;
}

/// Below 1 where ranks share a sample (tp, sp, pp).
std::vector<double> rank_batches(ScalingRow const& row) {
    std::vector<double> batches;
    for (double const batch : all_batches(row)) batches.push_back(batch / std::max(1, row.ranks));
    return batches;
}

/// "8", "4, 2", "0.5".
std::string joined(std::vector<double> batches) {
    bool const equal = std::ranges::all_of(batches, [&](double b) { return b == batches[0]; });
    if (equal) batches.resize(1);
    std::vector<std::string> words;
    for (double const each : batches) {
        bool const whole = each == std::floor(each);
        words.push_back(whole ? fmt::format("{:.0f}", each) : fmt::format("{:.3g}", each));
    }
    return fmt::format("{}", fmt::join(words, ", "));
}

/// Why `run` is not compared with `newest`; "": it is.
std::string why_left_out(SeriesRun const& run, SeriesRun const* newest, bool own_only) {
    if (own_only && is_imported(run.summary.run)) return "imported: it ran on another machine";
    if (!run.summary.run.ended_us) return "in progress, or it lost its controller";
    if (newest != nullptr) {
        auto const work = without_stage_batches(run.work);
        auto const wanted = without_stage_batches(newest->work);
        if (work != wanted) return "other work: " + describe_difference(work, wanted);
    }
    if (!has_enough_steps(run.summary)) {
        int const used = run.summary.measured ? run.summary.measured->steps_used : 0;
        return fmt::format("{} steps after the warm-up, {} are needed", used, kStepsNeeded);
    }
    auto const gpu = gpu_of(run.summary.device), wanted = gpu_of(newest->summary.device);
    if (gpu == wanted) return {};
    auto const shown = [](std::string const& name) { return name.empty() ? "not known" : name; };
    return fmt::format("other GPU: {} / {}", shown(gpu), shown(wanted));
}

/// Splits runs into those that can be compared and those that cannot.
RunsOfSize comparable(std::vector<SeriesRun> const& runs, SeriesReport& report) {
    bool const own_only = shadows_imports(runs);
    auto const newest = std::find_if(runs.rbegin(), runs.rend(), [&](auto const& run) {
        return has_enough_steps(run.summary) && run.summary.run.ended_us &&
               !(own_only && is_imported(run.summary.run));
    });
    auto const* const found = newest != runs.rend() ? &*newest : nullptr;
    if (found != nullptr) report.work = without_stage_batches(found->work);
    RunsOfSize members;
    for (auto const& run : runs) {
        auto reason = why_left_out(run, found, own_only);
        auto const& record = run.summary.run;
        if (reason.empty()) {
            members.push_back(&run);
        } else {
            report.left_out.push_back({record.number, record.name, std::move(reason)});
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
    row.stage_batch = stage_batches(members.front()->work);
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
    std::map<std::pair<RunSize, std::vector<int>>, RunsOfSize> sizes;
    for (auto const* run : members) {
        sizes[{size_of(run->summary), stage_batches(run->work)}].push_back(run);
    }
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
    if (rows.empty() || rows.front().ranks == rows.back().ranks) return;
    if (same(all_batches)) {
        report.scaling = Scaling::strong;
        auto const batches = all_batches(rows.front());
        report.held_equal = "global batch " + joined({batches.begin(), batches.end()});
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
    auto over = runs;
    (void)take_unfinished(over);
    for (auto& group : run_groups(over)) {
        bool const in_rows = !members.empty() && without_stage_batches(group.work) == report.work &&
                             group.size.gpu == gpu_of(members.front()->summary.device);
        if (in_rows) report.trends.push_back(detect(std::move(group)));
    }
    if (report.scaling == Scaling::one_size && !report.rows.empty()) {
        report.next.push_back("submit it at another size: --set resources.gpus_per_node=2");
    }
    return report;
}

}  // namespace osora::db::analysis
