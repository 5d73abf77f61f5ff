#include "db/analysis/report/stage_rows.hpp"

#include "base/robust.hpp"
#include "db/analysis/measure.hpp"
#include "protocol/journal/run_events.hpp"
#include "protocol/json.hpp"

#include <boost/describe.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace osora::db::analysis {
namespace {

struct StageFigures {
    double step_time_s = 0, samples_per_s = 0, peak_memory_gib = 0;
};
struct StageLayout {
    std::vector<PlannedBucket> buckets;
};
struct PlannedStage {
    int at_step = 0;
    StageLayout chosen;
    StageFigures predicted;
};
struct StagedPlan {
    StageFigures predicted;
    std::vector<PlannedStage> stages;
};
BOOST_DESCRIBE_STRUCT(StageFigures, (), (step_time_s, samples_per_s, peak_memory_gib))
BOOST_DESCRIBE_STRUCT(StageLayout, (), (buckets))
BOOST_DESCRIBE_STRUCT(PlannedStage, (), (at_step, chosen, predicted))
BOOST_DESCRIBE_STRUCT(StagedPlan, (), (predicted, stages))

StageRow row_of(int index, int first_step, StageFigures const& predicted) {
    StageRow row;
    row.index = index;
    row.first_step = first_step;
    auto const set = [](double value, double& into) {
        if (value > 0) into = value;  // 0: not predicted
    };
    set(predicted.step_time_s, row.predicted_s);
    set(predicted.samples_per_s, row.predicted_samples_per_s);
    set(predicted.peak_memory_gib, row.predicted_gib);
    return row;
}

/// The newest plan with stages.
StagedPlan staged_plan(std::vector<EventRecord> const& events) {
    StagedPlan newest;
    for (auto const& event : events) {
        if (event.kind != protocol::PlanChosen::kType) continue;
        auto const chosen = protocol::decode<protocol::PlanChosen>(event.body);
        if (chosen.has_error()) continue;
        auto plan = protocol::from_json<StagedPlan>(chosen->plan);
        if (plan.has_error() || plan->stages.empty()) continue;
        newest = std::move(*plan);
    }
    return newest;
}

std::vector<StageRow> planned_rows(std::vector<EventRecord> const& events) {
    auto const plan = staged_plan(events);
    std::vector<StageRow> rows;
    if (plan.stages.empty()) return rows;
    rows.push_back(row_of(0, 0, plan.predicted));
    for (auto const& stage : plan.stages) {
        rows.push_back(row_of(static_cast<int>(rows.size()), stage.at_step, stage.predicted));
    }
    return rows;
}

StageRow& row_at(std::vector<StageRow>& rows, int step) {
    auto const behind = std::ranges::upper_bound(rows, step, {}, &StageRow::first_step);
    return behind == rows.begin() ? rows.front() : *(behind - 1);
}

/// Times of the used steps of one stage, in total and by bucket.
struct StageSteps {
    std::vector<double> all;
    std::vector<int> buckets;  // indices, in order of appearance
    std::vector<std::vector<double>> by_bucket;

    void add(int bucket, double seconds) {
        all.push_back(seconds);
        auto found = std::ranges::find(buckets, bucket);
        if (found == buckets.end()) {
            buckets.push_back(bucket);
            by_bucket.emplace_back();
            found = buckets.end() - 1;
        }
        by_bucket[static_cast<std::size_t>(found - buckets.begin())].push_back(seconds);
    }
};

}  // namespace

std::vector<StageRow> stage_rows(std::vector<EventRecord> const& events, StepTable const& steps) {
    auto rows = planned_rows(events);
    auto const times = steps.columns.find("step_time_s");
    if (rows.empty() || times == steps.columns.end()) return rows;
    auto const selection = select_steps(steps);
    std::vector<StageSteps> taken(rows.size());
    for (auto const i : selection.kept) ++row_at(rows, steps.step[i]).steps;
    for (auto const i : selection.used) {
        auto const stage = static_cast<std::size_t>(row_at(rows, steps.step[i]).index);
        taken[stage].add(steps.bucket[i], times->second.mean[i]);
    }
    for (auto& row : rows) {
        auto& of_stage = taken[static_cast<std::size_t>(row.index)];
        row.steps_used = static_cast<int>(of_stage.all.size());
        if (row.steps_used > 0) row.step_s_median = median(std::move(of_stage.all));
        for (std::size_t i = 0; i < of_stage.buckets.size(); ++i) {
            auto const bucket = static_cast<std::size_t>(of_stage.buckets[i]);
            int const count = static_cast<int>(of_stage.by_bucket[i].size());
            row.buckets.push_back(
                {steps.buckets[bucket], count, median(std::move(of_stage.by_bucket[i]))});
        }
    }
    return rows;
}

std::vector<PlannedBucket> stage_buckets(std::vector<EventRecord> const& events) {
    auto plan = staged_plan(events);
    std::vector<PlannedBucket> buckets;
    for (auto& stage : plan.stages) {
        std::ranges::move(stage.chosen.buckets, std::back_inserter(buckets));
    }
    return buckets;
}

}  // namespace osora::db::analysis
