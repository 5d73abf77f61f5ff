// osora diff as JSON. Names are part of the contract with scripts: add names, do not change them.
#include "cli/report/diff_text.hpp"

#include <array>

namespace osora::cli {
namespace {

using namespace db::analysis;
namespace json = protocol::json;

json::object side_json(ComparedSide const& side) {
    using protocol::to_json;
    json::array runs;
    for (auto const& each : side.runs) {
        runs.push_back({{"number", each.run.number},
                        {"name", each.run.name},
                        {"uuid", each.run.uuid},
                        {"nodes", each.run.nodes},
                        {"ranks", each.run.ranks}});
    }
    return {{"runs", std::move(runs)},
            {"step_s_median", to_json(side.step_s_median)},
            {"step_s_mad", to_json(side.step_s_mad)},
            {"parallel_efficiency", to_json(side.efficiency.parallel)},
            {"load_balance", to_json(side.efficiency.load_balance)},
            {"communication_efficiency", to_json(side.efficiency.communication)},
            {"checkpoint_s_per_step", to_json(side.checkpoint_s)},
            {"straggler", to_json(side.straggler)}};
}

json::array interval_json(Interval const& interval) {
    return {protocol::to_json(interval.low), protocol::to_json(interval.high)};
}

}  // namespace

json::object diff_json(RunComparison const& found) {
    using protocol::to_json;
    constexpr std::array kVerdicts{"same", "slower", "faster", "undecided", "other_work"};
    constexpr std::array kIntervals{"none", "within_run", "over_runs"};
    auto const& w = found.waterfall;
    json::array rows, items;
    for (auto const& row : w.rows) {
        rows.push_back({{"key", row.key},
                        {"a_s", to_json(row.a_s)},
                        {"b_s", to_json(row.b_s)},
                        {"gap_s", to_json(row.gap_s)},
                        {"interval_s", interval_json(row.interval)},
                        {"of_gap", to_json(row.of_gap)}});
    }
    for (auto const& item : found.differences) {
        items.push_back({{"kind", item.kind}, {"key", item.key}, {"a", item.a}, {"b", item.b}});
    }
    return {{"verdict", kVerdicts[static_cast<std::size_t>(found.verdict)]},
            {"other_work", found.other_work},
            {"a", side_json(found.a)},
            {"b", side_json(found.b)},
            {"steps_a", w.steps_a},
            {"steps_b", w.steps_b},
            {"a_s", to_json(w.a_s)},
            {"b_s", to_json(w.b_s)},
            {"work_s", to_json(w.work_s)},
            {"gap_s", to_json(w.gap_s)},
            {"interval_s", interval_json(w.interval)},
            {"intervals", kIntervals[static_cast<std::size_t>(w.intervals)]},
            {"standardised", w.standardised},
            {"attributable", w.enough() && w.attributable()},
            {"waterfall", std::move(rows)},
            {"computation_efficiency", to_json(found.computation)},
            {"differences", std::move(items)}};
}

}  // namespace osora::cli
