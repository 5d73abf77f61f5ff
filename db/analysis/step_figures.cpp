// One pass over the data of load_run; select_steps chooses the steps that count.
#include "db/analysis/step_figures.hpp"

#include "base/robust.hpp"
#include "db/analysis/bottleneck.hpp"
#include "db/analysis/stragglers.hpp"

namespace osora::db::analysis {
double StepFigures::mean_of(char const* metric) const {
    auto const found = mean.find(metric);
    return found == mean.end() ? kUnknown : found->second;
}

StepFigures step_figures(StepTable const& steps, std::vector<RankBlock> const& arrivals,
                         std::vector<EventRecord> const& events) {
    StepFigures figures;
    auto const used = select_steps(steps).used;
    for (auto const& [name, column] : steps.columns) {
        figures.mean[name] = osora::mean(pick(column.mean, used));
    }
    if (auto const comm = steps.columns.find("exposed_comm_s"); comm != steps.columns.end()) {
        figures.least_comm_s = osora::mean(pick(comm->second.min, used));
    }
    if (auto const* const own = steps.column("arrival_s")) {
        figures.rank_balance =
            osora::mean(pick(own->max, used)) / osora::mean(pick(own->mean, used));
    }
    std::vector<std::vector<std::size_t>> by_bucket(steps.buckets.size());
    for (auto const i : used) by_bucket[static_cast<std::size_t>(steps.bucket[i])].push_back(i);
    for (std::size_t i = 0; i < by_bucket.size(); ++i) {
        figures.bucket_s[steps.buckets[i]] = seconds_at_medians(steps, by_bucket[i]);
    }
    figures.straggler = straggler_of(steps, used);
    figures.rank_work = rank_work(arrivals);
    figures.memory_growth = memory_growth(steps, used);
    figures.stages = stage_rows(events, steps);
    figures.measured = measure(steps);
    return figures;
}

}  // namespace osora::db::analysis
