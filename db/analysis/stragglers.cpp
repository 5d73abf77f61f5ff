#include "db/analysis/stragglers.hpp"

namespace osora::db::analysis {

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

}  // namespace osora::db::analysis
