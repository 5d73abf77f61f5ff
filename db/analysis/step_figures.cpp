// One pass over what load_run brings; select_steps says which steps count.
#include "db/analysis/step_figures.hpp"

#include "base/robust.hpp"

namespace osora::db::analysis {
namespace {

/// From times of arrival of the used steps.
std::optional<protocol::Straggler> straggler_of(StepTable const& steps,
                                                std::vector<std::size_t> const& used) {
    auto const arrival = steps.columns.find("arrival_s");
    auto const time = steps.columns.find("step_time_s");
    if (arrival == steps.columns.end() || time == steps.columns.end()) return std::nullopt;
    std::vector<protocol::ArrivalRow> rows;
    for (auto const i : used) {
        auto const& each = arrival->second;
        rows.push_back({{each.mean[i], each.max[i], each.argmax[i], steps.ranks[i]},
                        steps.ranks[i],
                        time->second.max[i]});
    }
    return protocol::find_straggler(rows);
}

}  // namespace

double StepFigures::mean_of(char const* metric) const {
    auto const found = mean.find(metric);
    return found == mean.end() ? kUnknown : found->second;
}

StepFigures step_figures(StepTable const& steps, std::vector<RankBlock> const& arrivals) {
    StepFigures figures;
    auto const used = select_steps(steps).used;
    for (auto const& [name, column] : steps.columns) {
        figures.mean[name] = osora::mean(pick(column.mean, used));
    }
    if (auto const comm = steps.columns.find("exposed_comm_s"); comm != steps.columns.end()) {
        figures.least_comm_s = osora::mean(pick(comm->second.min, used));
    }
    figures.straggler = straggler_of(steps, used);
    figures.rank_work = rank_work(arrivals);
    figures.measured = measure(steps);
    return figures;
}

}  // namespace osora::db::analysis
